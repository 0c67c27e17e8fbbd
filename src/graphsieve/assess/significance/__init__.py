"""The significance of a feature's score: p-values and control of the false discovery rate.

The null hypothesis is that the values of a feature are dealt to the samples at random, while the
graph stays. It makes sense only where the graph does not contain the feature: graphs of labels,
targets, probabilities and pairs do not, neighbour graphs in X do. For those a graph without the
feature is built for every feature.

All scores here are increasing or decreasing functions of a share u = fᵀAf / fᵀBf from 0 (best) to
1, so that

    P(u ≤ x) = P(fᵀ(A − xB)f ≤ 0) .

Three ways to that number, each where it is right:

- all orders of the samples, where there are few;
- permutations, until enough of them do as well as the feature itself (Besag, Clifford 1991);
- a beta law with the exact mean, variance and third moment of fᵀ(A − xB)f over all permutations,
  where the shape of the feature hardly matters (enough effective samples, no heavy tail, few ties).
  Below what permutations can resolve it is joined to the smallest shares that they found. Where A
  projects (class means, correlation), so that u has a beta law for normal values, it also serves
  above. For other features the p-value stays where counting ends.

The moments need no enumeration. A power of a quadratic form in permuted values is a sum over all
ways in which its indices can coincide; sums over distinct indices follow from sums over all by
Möbius inversion on the lattice of partitions, and most of the latter vanish, because rows of A and
B, and the feature itself, sum to zero. What is left for the third moment is five sums over the
matrix and three over the feature.
"""
