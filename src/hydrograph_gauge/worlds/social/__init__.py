"""The social network of LSBench, after its generator S2Gen: people, friendships, groups, and what they stream."""
