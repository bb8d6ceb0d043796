// What a module that only binds functions of CUDA sources uses of torch, without torch's headers: see headers.rs.
//
// The binding is pybind11's, which comes with torch, so that a call takes as long as with torch's headers. What torch adds to it lies in torch's own
// library; a tensor is one pointer, as in kernelwright_torch.h. A module that does more does not compile with this.
#ifndef KERNELWRIGHT_BINDING_H
#define KERNELWRIGHT_BINDING_H

#include <pybind11/pybind11.h>

#include <exception>

#define KW_INLINE __attribute__((always_inline)) inline

// In kernelwright_torch.cpp.
namespace kernelwright {
void construct(void* tensor);
void copy(void* tensor, const void* from);
void destroy(void* tensor);
bool guarded(void (*run)(void*), void* context);
} // namespace kernelwright

namespace at {
class Tensor {
 public:
  KW_INLINE Tensor() { kernelwright::construct(this); }
  KW_INLINE Tensor(const Tensor& other) { kernelwright::copy(this, &other); }
  KW_INLINE Tensor(Tensor&& other) noexcept : impl_(other.impl_) { kernelwright::construct(&other); }
  KW_INLINE ~Tensor() { kernelwright::destroy(this); }

 private:
  void* impl_;
};
static_assert(sizeof(Tensor) == sizeof(void*), "a tensor is one pointer");
} // namespace at

namespace pybind11::detail {
// Its functions are torch's.
template <> struct __attribute__((visibility("default"))) type_caster<at::Tensor> {
 public:
  PYBIND11_TYPE_CASTER(at::Tensor, const_name("torch.Tensor"));
  bool load(handle from, bool);
  static handle cast(const at::Tensor& from, return_value_policy, handle);
};
} // namespace pybind11::detail

namespace torch {
using namespace at;

// With the function's errors and warnings told to Python, as torch's does.
template <typename Result, typename... Arguments> auto wrap_pybind_function(Result (&function)(Arguments...)) {
  return [&function](Arguments... arguments) -> Result {
    if constexpr (std::is_void_v<Result>) {
      auto call = [&] { function(static_cast<Arguments&&>(arguments)...); };
      if (!kernelwright::guarded([](void* call_) { (*static_cast<decltype(call)*>(call_))(); }, &call)) throw pybind11::error_already_set();
    } else {
      alignas(Result) unsigned char room[sizeof(Result)];
      auto call = [&] { new (room) Result(function(static_cast<Arguments&&>(arguments)...)); };
      if (!kernelwright::guarded([](void* call_) { (*static_cast<decltype(call)*>(call_))(); }, &call)) throw pybind11::error_already_set();
      struct Emptied {
        Result* result;
        ~Emptied() { result->~Result(); }
      } emptied{reinterpret_cast<Result*>(room)};
      return static_cast<Result&&>(*emptied.result);
    }
  };
}
} // namespace torch

#endif
