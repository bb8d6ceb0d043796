// What the host code of CUDA sources uses of torch, without torch's headers: see headers.rs.
//
// A tensor is one pointer, here as in torch, so it can be passed between objects that were compiled with either header; every function that
// touches what it points to lies in kernelwright_torch.cpp, which is compiled with torch's own. Types that torch arranges in another way have other
// names here, and do not leave a source: headers.rs sees to that. Everything is inlined, so that no definition of ours can take the place of one of
// torch's. What is missing is missing on purpose: a source that does not compile with this is compiled with torch's headers.
#ifndef KERNELWRIGHT_TORCH_H
#define KERNELWRIGHT_TORCH_H

#include <cuda_runtime.h>

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#ifdef KERNELWRIGHT_OPTIONAL
#include <optional>
#endif
#ifdef KERNELWRIGHT_STRING
#include <stdexcept>
#include <string>
#endif
#ifdef KERNELWRIGHT_VECTOR
#include <vector>
#endif

#define KW_INLINE __attribute__((always_inline)) inline

namespace c10 {
enum class ScalarType : int8_t { Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7, Bool = 11, BFloat16 = 15 };
enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short, kInt = ScalarType::Int,
                     kLong = ScalarType::Long, kHalf = ScalarType::Half, kFloat = ScalarType::Float, kDouble = ScalarType::Double,
                     kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;

template <typename T> class ArrayRef {
 public:
  KW_INLINE ArrayRef() : data_(nullptr), length_(0) {}
  KW_INLINE ArrayRef(const T* data, size_t length) : data_(data), length_(length) {}
  KW_INLINE ArrayRef(const std::initializer_list<T>& list) : data_(list.begin()), length_(list.size()) {}
#ifdef KERNELWRIGHT_VECTOR
  KW_INLINE ArrayRef(const std::vector<T>& values) : data_(values.data()), length_(values.size()) {}
#endif
  KW_INLINE size_t size() const { return length_; }
  KW_INLINE const T* data() const { return data_; }
  KW_INLINE const T* begin() const { return data_; }
  KW_INLINE const T* end() const { return data_ + length_; }
  KW_INLINE const T& operator[](size_t index) const { return data_[index]; }
  KW_INLINE bool operator==(const ArrayRef& other) const {
    bool same = length_ == other.length_;
    for (size_t i = 0; same && i < length_; ++i) same = data_[i] == other.data_[i];
    return same;
  }
  KW_INLINE bool operator!=(const ArrayRef& other) const { return !(*this == other); }
#ifdef KERNELWRIGHT_VECTOR
  KW_INLINE std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
#endif

 private:
  const T* data_;
  size_t length_;
};
using IntArrayRef = ArrayRef<int64_t>;

// Only pointers to them: a source that computes with them goes with torch's headers.
struct Half;
struct BFloat16;

#ifdef KERNELWRIGHT_OPTIONAL
using std::nullopt;
using std::optional;
#endif
} // namespace c10

namespace at {
class Tensor;
}

// In kernelwright_torch.cpp.
namespace kernelwright {
struct Place {
  int type, index;
};
struct Facts {
  int dtype;  // negative: torch's default
  Place place;  // negative type: torch's default
};
void construct(void* tensor);
void copy(void* tensor, const void* from);
void destroy(void* tensor);
int64_t dim(const at::Tensor&);
int64_t size(const at::Tensor&, int64_t);
int64_t stride(const at::Tensor&, int64_t);
int64_t numel(const at::Tensor&);
int64_t element_size(const at::Tensor&);
const int64_t* sizes(const at::Tensor&);
const int64_t* strides(const at::Tensor&);
bool defined(const at::Tensor&);
bool is_contiguous(const at::Tensor&);
Facts facts(const at::Tensor&);
void* data(const at::Tensor&, int dtype, bool writes);  // negative: of any type
at::Tensor contiguous(const at::Tensor&);
at::Tensor clone(const at::Tensor&);
at::Tensor to(const at::Tensor&, int dtype);
at::Tensor shaped(const at::Tensor&, int how, const int64_t*, size_t);  // 0 view, 1 reshape, 2 permute
at::Tensor transpose(const at::Tensor&, int64_t, int64_t);
void zero(const at::Tensor&);
at::Tensor like(const at::Tensor&, int how);  // 0 empty, 1 zeros, 2 ones
at::Tensor make(int how, const int64_t*, size_t, Facts);
at::Tensor full(const int64_t*, size_t, double, Facts);
at::Tensor full_of_integer(const int64_t*, size_t, int64_t, Facts);
[[noreturn]] void fail(const char* function, const char* file, unsigned line, const char* message, size_t length);
void check(int error, const char* file, const char* function, int line);
cudaStream_t stream(int device);
int exchange_device(int device);
int number(char* text, size_t size, double value);
} // namespace kernelwright

namespace kernelwright {
// An element type, as `dtype()` gives it.
class TypeMeta {
 public:
  KW_INLINE TypeMeta(c10::ScalarType type) : type_(type) {}
  KW_INLINE c10::ScalarType toScalarType() const { return type_; }
  KW_INLINE bool operator==(const TypeMeta& other) const { return type_ == other.type_; }
  KW_INLINE bool operator!=(const TypeMeta& other) const { return type_ != other.type_; }

 private:
  c10::ScalarType type_;
};
KW_INLINE bool operator==(const TypeMeta& a, c10::ScalarType b) { return a.toScalarType() == b; }
KW_INLINE bool operator!=(const TypeMeta& a, c10::ScalarType b) { return a.toScalarType() != b; }

// What the deprecated `type()` gives.
class Type {
 public:
  KW_INLINE Type(c10::ScalarType type, bool is_cuda) : type_(type), is_cuda_(is_cuda) {}
  KW_INLINE bool is_cuda() const { return is_cuda_; }
  KW_INLINE c10::ScalarType scalarType() const { return type_; }

 private:
  c10::ScalarType type_;
  bool is_cuda_;
};
KW_INLINE c10::ScalarType scalar_type(c10::ScalarType type) { return type; }
KW_INLINE c10::ScalarType scalar_type(const Type& type) { return type.scalarType(); }

class Device {
 public:
  KW_INLINE Device(c10::DeviceType type, int index = -1) : place_{static_cast<int>(type), index} {}
  KW_INLINE explicit Device(Place place) : place_(place) {}
  KW_INLINE c10::DeviceType type() const { return static_cast<c10::DeviceType>(place_.type); }
  KW_INLINE int index() const { return place_.index; }
  KW_INLINE bool is_cuda() const { return type() == c10::kCUDA; }
  KW_INLINE bool is_cpu() const { return type() == c10::kCPU; }
  KW_INLINE bool operator==(const Device& other) const { return place_.type == other.place_.type && place_.index == other.place_.index; }
  KW_INLINE bool operator!=(const Device& other) const { return !(*this == other); }
  KW_INLINE Place place() const { return place_; }

 private:
  Place place_;
};

class Options {
 public:
  KW_INLINE Options() : facts_{-1, {-1, -1}} {}
  KW_INLINE Options(c10::ScalarType type) : facts_{static_cast<int>(type), {-1, -1}} {}
  KW_INLINE Options(TypeMeta type) : Options(type.toScalarType()) {}
  KW_INLINE Options(Device device) : facts_{-1, device.place()} {}
  KW_INLINE Options(c10::DeviceType type) : Options(Device(type)) {}
  KW_INLINE explicit Options(Facts facts) : facts_(facts) {}
  KW_INLINE Options dtype(c10::ScalarType type) const { return Options(Facts{static_cast<int>(type), facts_.place}); }
  KW_INLINE Options dtype(TypeMeta type) const { return dtype(type.toScalarType()); }
  KW_INLINE Options device(Device device) const { return Options(Facts{facts_.dtype, device.place()}); }
  KW_INLINE Options device(c10::DeviceType type, int index = -1) const { return device(Device(type, index)); }
  KW_INLINE Facts facts() const { return facts_; }

 private:
  Facts facts_;
};

template <typename T> struct TypeOf;
template <> struct TypeOf<uint8_t> { static constexpr int value = 0; };
template <> struct TypeOf<int8_t> { static constexpr int value = 1; };
template <> struct TypeOf<int16_t> { static constexpr int value = 2; };
template <> struct TypeOf<int> { static constexpr int value = 3; };
template <> struct TypeOf<int64_t> { static constexpr int value = 4; };
template <> struct TypeOf<c10::Half> { static constexpr int value = 5; };
template <> struct TypeOf<c10::BFloat16> { static constexpr int value = 15; };
template <> struct TypeOf<float> { static constexpr int value = 6; };
template <> struct TypeOf<double> { static constexpr int value = 7; };
template <> struct TypeOf<bool> { static constexpr int value = 11; };

// The text of a failed check.
class Message {
 public:
  KW_INLINE Message() : length_(0) {}
  KW_INLINE Message& operator<<(const char* text) {
    while (*text && length_ < sizeof(text_)) text_[length_++] = *text++;
    return *this;
  }
#ifdef KERNELWRIGHT_STRING
  KW_INLINE Message& operator<<(const std::string& text) { return *this << text.c_str(); }
#endif
  KW_INLINE Message& operator<<(double value) {
    char text[64];
    number(text, sizeof(text), value);
    return *this << text;
  }
  KW_INLINE Message& operator<<(float value) { return *this << static_cast<double>(value); }
  KW_INLINE Message& operator<<(bool value) { return *this << (value ? "1" : "0"); }
  KW_INLINE Message& operator<<(int value) { return *this << static_cast<long long>(value); }
  KW_INLINE Message& operator<<(unsigned value) { return *this << static_cast<long long>(value); }
  KW_INLINE Message& operator<<(long value) { return *this << static_cast<long long>(value); }
  KW_INLINE Message& operator<<(unsigned long value) { return *this << static_cast<long long>(value); }
  KW_INLINE Message& operator<<(long long value) {
    char text[24];
    char* end = text + sizeof(text) - 1;
    *end = 0;
    unsigned long long left = value < 0 ? 0ull - static_cast<unsigned long long>(value) : static_cast<unsigned long long>(value);
    do *--end = static_cast<char>('0' + left % 10);
    while (left /= 10);
    if (value < 0) *--end = '-';
    return *this << end;
  }
  KW_INLINE Message& operator<<(c10::ScalarType type) {
    switch (type) {
      case c10::kByte: return *this << "Byte";
      case c10::kChar: return *this << "Char";
      case c10::kShort: return *this << "Short";
      case c10::kInt: return *this << "Int";
      case c10::kLong: return *this << "Long";
      case c10::kHalf: return *this << "Half";
      case c10::kFloat: return *this << "Float";
      case c10::kDouble: return *this << "Double";
      case c10::kBool: return *this << "Bool";
      case c10::kBFloat16: return *this << "BFloat16";
      default: return *this << "another type";
    }
  }
  KW_INLINE Message& operator<<(c10::IntArrayRef values) {
    *this << "[";
    for (size_t i = 0; i < values.size(); ++i) *this << (i ? ", " : "") << values[i];
    return *this << "]";
  }
  KW_INLINE const char* data() const { return text_; }
  KW_INLINE size_t size() const { return length_; }

 private:
  char text_[1024];
  size_t length_;
};
template <typename... Parts> KW_INLINE Message message(const char*, const Parts&... parts) {
  Message all;
  (all << ... << parts);
  return all;
}
KW_INLINE Message message(const char* otherwise) {
  Message all;
  all << otherwise;
  return all;
}
} // namespace kernelwright

namespace at {
using namespace c10;
using kernelwright::Device;
using TensorOptions = kernelwright::Options;

class Tensor {
 public:
  KW_INLINE Tensor() { kernelwright::construct(this); }
  KW_INLINE Tensor(const Tensor& other) { kernelwright::copy(this, &other); }
  KW_INLINE Tensor(Tensor&& other) noexcept : impl_(other.impl_) { kernelwright::construct(&other); }
  KW_INLINE ~Tensor() { kernelwright::destroy(this); }
  KW_INLINE Tensor& operator=(const Tensor& other) {
    Tensor copied(other);
    return swap(copied);
  }
  KW_INLINE Tensor& operator=(Tensor&& other) noexcept {
    Tensor moved(static_cast<Tensor&&>(other));
    return swap(moved);
  }

  KW_INLINE int64_t dim() const { return kernelwright::dim(*this); }
  KW_INLINE int64_t ndimension() const { return dim(); }
  KW_INLINE int64_t size(int64_t d) const { return kernelwright::size(*this, d); }
  KW_INLINE int64_t stride(int64_t d) const { return kernelwright::stride(*this, d); }
  KW_INLINE int64_t numel() const { return kernelwright::numel(*this); }
  KW_INLINE int64_t element_size() const { return kernelwright::element_size(*this); }
  KW_INLINE IntArrayRef sizes() const { return IntArrayRef(kernelwright::sizes(*this), static_cast<size_t>(dim())); }
  KW_INLINE IntArrayRef strides() const { return IntArrayRef(kernelwright::strides(*this), static_cast<size_t>(dim())); }
  KW_INLINE bool defined() const { return kernelwright::defined(*this); }
  KW_INLINE bool is_contiguous() const { return kernelwright::is_contiguous(*this); }
  KW_INLINE bool is_cuda() const { return device().is_cuda(); }
  KW_INLINE bool is_cpu() const { return device().is_cpu(); }
  KW_INLINE ScalarType scalar_type() const { return static_cast<ScalarType>(kernelwright::facts(*this).dtype); }
  KW_INLINE kernelwright::TypeMeta dtype() const { return scalar_type(); }
  KW_INLINE kernelwright::Type type() const { return kernelwright::Type(scalar_type(), is_cuda()); }
  KW_INLINE Device device() const { return Device(kernelwright::facts(*this).place); }
  KW_INLINE int64_t get_device() const { return device().index(); }
  KW_INLINE TensorOptions options() const { return TensorOptions(kernelwright::facts(*this)); }
  KW_INLINE void* data_ptr() const { return kernelwright::data(*this, -1, true); }
  template <typename T> KW_INLINE T* data_ptr() const {
    return static_cast<T*>(kernelwright::data(*this, kernelwright::TypeOf<T>::value, true));
  }
  template <typename T> KW_INLINE T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <typename T> KW_INLINE const T* const_data_ptr() const {
    return static_cast<const T*>(kernelwright::data(*this, kernelwright::TypeOf<T>::value, false));
  }
  KW_INLINE Tensor contiguous() const { return kernelwright::contiguous(*this); }
  KW_INLINE Tensor clone() const { return kernelwright::clone(*this); }
  KW_INLINE Tensor to(ScalarType type) const { return kernelwright::to(*this, static_cast<int>(type)); }
  KW_INLINE Tensor view(IntArrayRef sizes) const { return kernelwright::shaped(*this, 0, sizes.data(), sizes.size()); }
  KW_INLINE Tensor reshape(IntArrayRef sizes) const { return kernelwright::shaped(*this, 1, sizes.data(), sizes.size()); }
  KW_INLINE Tensor permute(IntArrayRef order) const { return kernelwright::shaped(*this, 2, order.data(), order.size()); }
  KW_INLINE Tensor transpose(int64_t a, int64_t b) const { return kernelwright::transpose(*this, a, b); }
  KW_INLINE Tensor& zero_() {
    kernelwright::zero(*this);
    return *this;
  }

 private:
  KW_INLINE Tensor& swap(Tensor& other) noexcept {
    void* impl = impl_;
    impl_ = other.impl_;
    other.impl_ = impl;
    return *this;
  }
  void* impl_;
};
static_assert(sizeof(Tensor) == sizeof(void*), "a tensor is one pointer");

KW_INLINE Tensor empty(IntArrayRef sizes, TensorOptions options = {}) { return kernelwright::make(0, sizes.data(), sizes.size(), options.facts()); }
KW_INLINE Tensor zeros(IntArrayRef sizes, TensorOptions options = {}) { return kernelwright::make(1, sizes.data(), sizes.size(), options.facts()); }
KW_INLINE Tensor ones(IntArrayRef sizes, TensorOptions options = {}) { return kernelwright::make(2, sizes.data(), sizes.size(), options.facts()); }
template <typename T> KW_INLINE Tensor full(IntArrayRef sizes, T value, TensorOptions options = {}) {
  // Without a type among the options it follows from the value's.
  if (static_cast<T>(0.5) == static_cast<T>(0)) {
    return kernelwright::full_of_integer(sizes.data(), sizes.size(), static_cast<int64_t>(value), options.facts());
  }
  return kernelwright::full(sizes.data(), sizes.size(), static_cast<double>(value), options.facts());
}
Tensor full(IntArrayRef sizes, bool value, TensorOptions options = {}) = delete;
KW_INLINE Tensor empty_like(const Tensor& tensor) { return kernelwright::like(tensor, 0); }
KW_INLINE Tensor zeros_like(const Tensor& tensor) { return kernelwright::like(tensor, 1); }
KW_INLINE Tensor ones_like(const Tensor& tensor) { return kernelwright::like(tensor, 2); }

KW_INLINE Device device_of(const Tensor& tensor) { return tensor.device(); }
} // namespace at

namespace c10 {
using kernelwright::Device;
using TensorOptions = kernelwright::Options;
namespace cuda {
class CUDAStream {
 public:
  KW_INLINE explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
  KW_INLINE cudaStream_t stream() const { return stream_; }
  KW_INLINE operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_;
};
KW_INLINE CUDAStream getCurrentCUDAStream(int device = -1) { return CUDAStream(kernelwright::stream(device)); }

class CUDAGuard {
 public:
  KW_INLINE explicit CUDAGuard(Device device) : CUDAGuard(device.index()) {}
  KW_INLINE explicit CUDAGuard(int device) : last_(kernelwright::exchange_device(device)) {}
  KW_INLINE ~CUDAGuard() { kernelwright::exchange_device(last_); }
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;

 private:
  int last_;
};
using OptionalCUDAGuard = CUDAGuard;
} // namespace cuda
} // namespace c10

namespace at {
namespace cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::OptionalCUDAGuard;
} // namespace cuda
} // namespace at

namespace torch {
using namespace at;
using Dtype = at::ScalarType;
constexpr auto kUInt8 = at::kByte, kInt8 = at::kChar, kInt16 = at::kShort, kInt32 = at::kInt, kInt64 = at::kLong;
KW_INLINE TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
KW_INLINE TensorOptions dtype(kernelwright::TypeMeta type) { return TensorOptions(type); }
KW_INLINE TensorOptions device(Device device) { return TensorOptions(device); }
constexpr auto kFloat16 = at::kHalf, kFloat32 = at::kFloat, kFloat64 = at::kDouble;
} // namespace torch

// Fewer than torch's: a message of other parts, and a dispatch over other types, go with torch's headers.
#define TORCH_CHECK(condition, ...)                                                                                                              \
  do {                                                                                                                                          \
    if (!(condition)) {                                                                                                                         \
      const auto text = kernelwright::message(                                                                                                  \
          "Expected " #condition " to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement "   \
          "request to PyTorch.)",                                                                                                               \
          ##__VA_ARGS__);                                                                                                                       \
      kernelwright::fail(__func__, __FILE__, __LINE__, text.data(), text.size());                                                              \
    }                                                                                                                                           \
  } while (false)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define C10_CUDA_CHECK(expression)                                                      \
  do {                                                                                  \
    const cudaError_t error = expression;                                               \
    kernelwright::check(static_cast<int>(error), __FILE__, __func__, __LINE__);         \
  } while (false)
#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define KW_CASE(name, type, ...)        \
  case c10::ScalarType::name: {         \
    using scalar_t = type;              \
    return __VA_ARGS__();               \
  }
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...)                                             \
  [&] {                                                                                         \
    const c10::ScalarType kw_type = kernelwright::scalar_type(TYPE);                                                       \
    switch (kw_type) {                                                                          \
      KW_CASE(Double, double, __VA_ARGS__)                                                      \
      KW_CASE(Float, float, __VA_ARGS__)                                                        \
      default:                                                                                  \
        TORCH_CHECK(false, "\"", NAME, "\" not implemented for this type");                      \
    }                                                                                           \
  }()

#endif
