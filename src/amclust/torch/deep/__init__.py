"""Deep clustering: an autoencoder with an associative memory in its latent space."""

from amclust.torch.deep._estimator import DeepClAM

__all__ = ["DeepClAM"]
