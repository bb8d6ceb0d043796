// What kernelwright_torch.h declares, on torch's own tensors.
#include <torch/extension.h>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdio>
#include <new>

#pragma GCC visibility push(hidden)
namespace kernelwright {
struct Place {
  int type, index;
};
struct Facts {
  int dtype;
  Place place;
};

namespace {
at::TensorOptions options(Facts facts) {
  at::TensorOptions options;
  if (facts.dtype >= 0) options = options.dtype(static_cast<at::ScalarType>(facts.dtype));
  if (facts.place.type >= 0) {
    const auto index = static_cast<c10::DeviceIndex>(facts.place.index);
    options = options.device(at::Device(static_cast<c10::DeviceType>(facts.place.type), index));
  }
  return options;
}

template <typename T> void* data_of(const at::Tensor& tensor, bool writes) {
  return writes ? static_cast<void*>(tensor.mutable_data_ptr<T>()) : const_cast<T*>(tensor.const_data_ptr<T>());
}
} // namespace

void construct(void* tensor) { new (tensor) at::Tensor(); }
void copy(void* tensor, const void* from) { new (tensor) at::Tensor(*static_cast<const at::Tensor*>(from)); }
void destroy(void* tensor) { static_cast<at::Tensor*>(tensor)->~Tensor(); }
int64_t dim(const at::Tensor& tensor) { return tensor.dim(); }
int64_t size(const at::Tensor& tensor, int64_t d) { return tensor.size(d); }
int64_t stride(const at::Tensor& tensor, int64_t d) { return tensor.stride(d); }
int64_t numel(const at::Tensor& tensor) { return tensor.numel(); }
int64_t element_size(const at::Tensor& tensor) { return tensor.element_size(); }
const int64_t* sizes(const at::Tensor& tensor) { return tensor.sizes().data(); }
const int64_t* strides(const at::Tensor& tensor) { return tensor.strides().data(); }
bool defined(const at::Tensor& tensor) { return tensor.defined(); }
bool is_contiguous(const at::Tensor& tensor) { return tensor.is_contiguous(); }
Facts facts(const at::Tensor& tensor) {
  const auto device = tensor.device();
  return {static_cast<int>(tensor.scalar_type()), {static_cast<int>(device.type()), device.index()}};
}
void* data(const at::Tensor& tensor, int dtype, bool writes) {
  switch (dtype) {
    case 0: return data_of<uint8_t>(tensor, writes);
    case 1: return data_of<int8_t>(tensor, writes);
    case 2: return data_of<int16_t>(tensor, writes);
    case 3: return data_of<int>(tensor, writes);
    case 4: return data_of<int64_t>(tensor, writes);
    case 5: return data_of<at::Half>(tensor, writes);
    case 6: return data_of<float>(tensor, writes);
    case 7: return data_of<double>(tensor, writes);
    case 11: return data_of<bool>(tensor, writes);
    case 15: return data_of<at::BFloat16>(tensor, writes);
    default: return tensor.data_ptr();
  }
}
at::Tensor contiguous(const at::Tensor& tensor) { return tensor.contiguous(); }
at::Tensor clone(const at::Tensor& tensor) { return tensor.clone(); }
at::Tensor to(const at::Tensor& tensor, int dtype) { return tensor.to(static_cast<at::ScalarType>(dtype)); }
at::Tensor shaped(const at::Tensor& tensor, int how, const int64_t* values, size_t count) {
  const at::IntArrayRef given(values, count);
  return how == 0 ? tensor.view(given) : how == 1 ? tensor.reshape(given) : tensor.permute(given);
}
at::Tensor transpose(const at::Tensor& tensor, int64_t a, int64_t b) { return tensor.transpose(a, b); }
void zero(const at::Tensor& tensor) { tensor.zero_(); }
at::Tensor like(const at::Tensor& tensor, int how) {
  return how == 0 ? torch::empty_like(tensor) : how == 1 ? torch::zeros_like(tensor) : torch::ones_like(tensor);
}
at::Tensor make(int how, const int64_t* values, size_t count, Facts facts) {
  const at::IntArrayRef sizes(values, count);
  return how == 0 ? torch::empty(sizes, options(facts)) : how == 1 ? torch::zeros(sizes, options(facts)) : torch::ones(sizes, options(facts));
}
at::Tensor full(const int64_t* values, size_t count, double value, Facts facts) {
  return torch::full(at::IntArrayRef(values, count), value, options(facts));
}
at::Tensor full_of_integer(const int64_t* values, size_t count, int64_t value, Facts facts) {
  return torch::full(at::IntArrayRef(values, count), value, options(facts));
}
[[noreturn]] void fail(const char* function, const char* file, unsigned line, const char* message, size_t length) {
  ::c10::detail::torchCheckFail(function, file, line, std::string(message, length));
}
void check(int error, const char*, const char*, int) { C10_CUDA_CHECK(static_cast<cudaError_t>(error)); }
cudaStream_t stream(int device) { return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream(); }
int exchange_device(int device) {
  const auto last = c10::cuda::current_device();
  if (device >= 0 && device != last) c10::cuda::set_device(static_cast<c10::DeviceIndex>(device));
  return last;
}
bool guarded(void (*run)(void*), void* context) {
  HANDLE_TH_ERRORS
  run(context);
  return true;
  END_HANDLE_TH_ERRORS_RET(false)
}
int number(char* text, size_t size, double value) { return std::snprintf(text, size, "%g", value); }
} // namespace kernelwright
#pragma GCC visibility pop
