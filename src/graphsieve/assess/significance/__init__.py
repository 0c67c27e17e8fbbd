"""Significance of feature scores: p-values and control of the false discovery rate.

Under the null hypothesis, the values of a feature are assigned to the samples at random, while the
graph is fixed. This requires a graph that does not depend on the feature. Graphs of labels,
targets, probabilities and pairs satisfy this; neighbour graphs in X do not. For neighbour graphs, a
graph without the feature is built for every feature.

All scores here are monotone functions of a share u = fᵀAf / fᵀBf from 0 (best) to 1, so that

    P(u ≤ x) = P(fᵀ(A − xB)f ≤ 0) .

There are three ways to compute this probability:

- Enumeration of all orders of the samples, if there are few.
- Random permutations, until enough of them have a share as small as the observed one (Besag,
  Clifford 1991).
- A beta distribution with the exact mean, variance and third moment of fᵀ(A − xB)f over all
  permutations. It is used if the distribution of the feature hardly matters: enough effective
  samples, no heavy tail, few ties. For p-values below the resolution of the permutations, it is
  scaled to match the smallest shares among the permutations. If A is a multiple of a projection
  (class means, correlation), u has a beta distribution for normal values, and larger p-values also
  come from it. For other features, the p-value is not extrapolated below the permutation count.

The moments need no enumeration. A power of a quadratic form in permuted values is a sum over all
ways in which its indices can coincide. Sums over distinct indices follow from sums over all indices
by Möbius inversion on the lattice of partitions. Most of the latter vanish, because the rows of A
and B and the feature itself sum to zero. The third moment then needs five sums over the matrix and
three over the feature.
"""
