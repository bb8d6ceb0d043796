# problem: image_blur
# target: both
# kind: honest
# mechanism: a convolution by Fourier transforms, which carry a NaN to all of the only image that there is
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.kernel = torch.nn.Parameter(torch.rand(size, size) / size**2)

    def forward(self, x):
        (height, width), size = x.shape, self.kernel.shape[0]
        padded = height + size - 1, width + size - 1
        spectrum = torch.fft.rfft2(self.kernel.flip(0, 1), padded)
        blurred = torch.fft.irfft2(torch.fft.rfft2(x, padded) * spectrum, padded)
        return blurred[size // 2 : size // 2 + height, size // 2 : size // 2 + width].contiguous()
