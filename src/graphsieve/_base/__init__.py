"""What every other package needs: errors, parameter checks, progress, threads, files written
whole, randomness.
"""
