// aurora.h: the intrinsics of Aurora-1, with an implementation for the host. A kernel that keeps to these names runs on both.
// With AUR_STRICT the host also checks, at every call, what the device does not forgive: alignment and missing fences.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int AUR_LANES = 24;           // float32 lanes of a vector register
constexpr int AUR_ALIGN = 48;           // bytes: what every scratchpad address is a multiple of
constexpr int AUR_PAD_BYTES = 48 << 10; // scratchpad of a core
constexpr int AUR_DMA_BYTES = 12 << 10; // the longest transfer

typedef float aur_f8 __attribute__((vector_size(32)));
typedef int32_t aur_i8 __attribute__((vector_size(32)));
struct aur_v24 { aur_f8 part[3]; };

inline void aur_check(bool kept, const char* error) { if (!kept) { std::fprintf(stderr, "%s\n", error); std::abort(); } }
inline void aur_aligned(const void* pad) { aur_check(uintptr_t(pad) % AUR_ALIGN == 0, "AUR-E201: scratchpad address is not a multiple of 48"); }
#ifdef AUR_STRICT
inline thread_local bool aur_pending = false;
#define AUR_IF_STRICT(statement) statement
#else
#define AUR_IF_STRICT(statement)
#endif

struct aur_core {  // one core while it works on one item; its scratchpad begins empty
    float* alloc(int64_t floats) {
        int64_t bytes = (floats + AUR_LANES - 1) / AUR_LANES * AUR_LANES * 4;
        aur_check(used + bytes <= AUR_PAD_BYTES, "AUR-E310: scratchpad exhausted");
        uintptr_t first = (uintptr_t(memory) + AUR_ALIGN - 1) / AUR_ALIGN * AUR_ALIGN;
        float* pad = reinterpret_cast<float*>(first + used);
        used += bytes;
        return pad;
    }
    alignas(64) char memory[AUR_PAD_BYTES + AUR_ALIGN];
    int64_t used = 0;
    aur_core() {}
};

template <class Body> void aur_launch(int cores, int64_t items, Body body) {
#pragma omp parallel for schedule(static) num_threads(cores)
    for (int64_t item = 0; item < items; ++item) { aur_core core; body(core, item); }
}

inline void aur_dma_in(float* pad, const float* memory, int64_t count, float fill) {
    aur_aligned(pad);
    aur_check(count * 4 <= AUR_DMA_BYTES, "AUR-E305: transfer of more than 12288 bytes");
    std::memcpy(pad, memory, count * 4);
    for (int64_t i = count; i % AUR_LANES != 0; ++i) pad[i] = fill;
}
inline void aur_fence() { asm volatile("" ::: "memory"); AUR_IF_STRICT(aur_pending = false;) }
inline void aur_dma_out(float* memory, const float* pad, int64_t count) {
    AUR_IF_STRICT(aur_check(!aur_pending, "AUR-E207: transfer out of stores that no fence has made visible");)
    aur_aligned(pad);
    aur_check(count * 4 <= AUR_DMA_BYTES, "AUR-E305: transfer of more than 12288 bytes");
    std::memcpy(memory, pad, count * 4);
}
inline aur_v24 aur_load(const float* pad) { AUR_IF_STRICT(aur_aligned(pad);) aur_v24 v; std::memcpy(&v, pad, 96); return v; }
inline void aur_store(float* pad, aur_v24 v) { AUR_IF_STRICT(aur_aligned(pad); aur_pending = true;) std::memcpy(pad, &v, 96); }

#define AUR_EACH(expression) \
    { auto one = [&](int p) __attribute__((always_inline)) { return expression; }; return {{one(0), one(1), one(2)}}; }
inline aur_v24 aur_splat(float x) AUR_EACH(aur_f8{} + x)
inline aur_v24 aur_add(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] + b.part[p])
inline aur_v24 aur_sub(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] - b.part[p])
inline aur_v24 aur_mul(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] * b.part[p])
inline aur_v24 aur_fma(aur_v24 a, aur_v24 b, aur_v24 c) AUR_EACH(a.part[p] * b.part[p] + c.part[p])
inline aur_v24 aur_nmsub(aur_v24 a, aur_v24 b, aur_v24 c) AUR_EACH(c.part[p] - a.part[p] * b.part[p])
inline aur_v24 aur_min(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] < b.part[p] ? a.part[p] : b.part[p])
inline aur_v24 aur_max(aur_v24 a, aur_v24 b) AUR_EACH(a.part[p] > b.part[p] ? a.part[p] : b.part[p])
inline aur_v24 aur_rcp(aur_v24 x) AUR_EACH((aur_f8)((aur_i8)(1.0f / x.part[p]) & ~0x7ff))
inline aur_f8 aur_exp2_part(aur_f8 x) {
    aur_f8 low = aur_f8{} - 127.0f, high = aur_f8{} + 128.0f;
    x = low > x ? low : x;
    x = high < x ? high : x;
    aur_f8 whole = (x + 12582912.0f) - 12582912.0f, f = x - whole;
    aur_f8 y = 1.0f + f * (0.69314718f + f * (0.24022651f + f * (0.05550411f + f * (0.00961813f + f * (0.00133336f + f * 0.00015404f)))));
    return y * (aur_f8)((__builtin_convertvector(whole, aur_i8) + 127) << 23);
}
inline aur_v24 aur_exp2(aur_v24 x) AUR_EACH(aur_exp2_part(x.part[p]))
inline float aur_sum(aur_v24 v) {
    aur_f8 s = v.part[0] + v.part[1] + v.part[2];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}
inline float aur_hmax(aur_v24 v) {
    float m = v.part[0][0];
    for (int i = 1; i < AUR_LANES; ++i) { float x = v.part[i / 8][i % 8]; m = m > x ? m : x; }
    return m;
}
