"""Models: descriptions that the sampler turns into multipath Gibbs samplers."""
