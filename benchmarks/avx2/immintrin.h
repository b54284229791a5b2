/* Stands in for <immintrin.h> so that limit.c builds without AVX-512: each 512-bit register is a
 * pair of 256-bit ones, masks stay one bit per lane. SIMDe does the same in principle, but its mask
 * operations go through memory (9 to 34 us a run-round instead of 1), which is no yardstick. */
#pragma once
#include_next <immintrin.h>
typedef struct { __m256 h[2]; } f512;
typedef struct { __m256i h[2]; } i512;
#define __m512 f512
#define __m512i i512
#define EACH(type, expr) ({ type r_; { enum { k = 0 }; r_.h[k] = expr; } { enum { k = 1 }; r_.h[k] = expr; } r_; })
#define F2(name, op) static inline f512 name(f512 a, f512 b) { return EACH(f512, op(a.h[k], b.h[k])); }
#define I2(name, op) static inline i512 name(i512 a, i512 b) { return EACH(i512, op(a.h[k], b.h[k])); }
#define _mm512_add_ps p_add
#define _mm512_sub_ps p_sub
#define _mm512_mul_ps p_mul
#define _mm512_div_ps p_div
#define _mm512_min_ps p_min
#define _mm512_add_epi32 p_addi
#define _mm512_sub_epi32 p_subi
#define _mm512_xor_si512 p_xor
#define _mm512_or_si512 p_or
#define _mm512_and_si512 p_and
F2(p_add, _mm256_add_ps) F2(p_sub, _mm256_sub_ps) F2(p_mul, _mm256_mul_ps) F2(p_div, _mm256_div_ps)
F2(p_min, _mm256_min_ps)
I2(p_addi, _mm256_add_epi32) I2(p_subi, _mm256_sub_epi32) I2(p_xor, _mm256_xor_si256)
I2(p_or, _mm256_or_si256) I2(p_and, _mm256_and_si256)
#define _mm512_slli_epi32(a, n) ({ i512 a_ = a; EACH(i512, _mm256_slli_epi32(a_.h[k], n)); })
#define _mm512_srli_epi32(a, n) ({ i512 a_ = a; EACH(i512, _mm256_srli_epi32(a_.h[k], n)); })
#define _mm512_rol_epi32(a, n) p_or(_mm512_slli_epi32(a, n), _mm512_srli_epi32(a, 32 - n))
#define _mm512_set1_ps(x) EACH(f512, _mm256_set1_ps(x))
#define _mm512_set1_epi32(x) EACH(i512, _mm256_set1_epi32(x))
#define _mm512_setzero_ps() EACH(f512, _mm256_setzero_ps())
#define _mm512_castps_si512(a) ({ f512 a_ = a; EACH(i512, _mm256_castps_si256(a_.h[k])); })
#define _mm512_castsi512_ps(a) ({ i512 a_ = a; EACH(f512, _mm256_castsi256_ps(a_.h[k])); })
#define _mm512_cvtepi32_ps(a) ({ i512 a_ = a; EACH(f512, _mm256_cvtepi32_ps(a_.h[k])); })
#define _mm512_abs_ps(a) ({ f512 a_ = a; EACH(f512, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a_.h[k])); })
#define _mm512_floor_ps(a) ({ f512 a_ = a; EACH(f512, _mm256_floor_ps(a_.h[k])); })
#define _mm512_fmadd_ps p_fma
static inline f512 p_fma(f512 a, f512 b, f512 c) { return EACH(f512, _mm256_fmadd_ps(a.h[k], b.h[k], c.h[k])); }
static inline i512 p_expand(unsigned mask) { /* one bit per lane to all ones per lane */
  const __m256i bit[2] = {_mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128),
                          _mm256_setr_epi32(256, 512, 1024, 2048, 4096, 8192, 16384, 32768)};
  return EACH(i512, _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bit[k]), bit[k]));
}
static inline f512 p_blend(unsigned mask, f512 no, f512 yes) {
  f512 m = _mm512_castsi512_ps(p_expand(mask));
  return EACH(f512, _mm256_blendv_ps(no.h[k], yes.h[k], m.h[k]));
}
#define _mm512_cmp_ps_mask(x, y, op) ({ f512 x_ = x, y_ = y; \
  (__mmask16)(_mm256_movemask_ps(_mm256_cmp_ps(x_.h[0], y_.h[0], op)) | \
              _mm256_movemask_ps(_mm256_cmp_ps(x_.h[1], y_.h[1], op)) << 8); })
#define _mm512_mask_blend_ps p_blend
#define _mm512_mask_mul_ps(src, mask, x, y) p_blend(mask, src, p_mul(x, y))
/* Wherever limit.c calls it, the first argument is the third. */
#define _mm512_mask_add_epi32(src, mask, x, y) p_addi(x, p_and(y, p_expand(mask)))
static inline f512 p_mask3_fma(f512 a, f512 b, f512 c, unsigned mask) {
  f512 m = _mm512_castsi512_ps(p_expand(mask));
  return EACH(f512, _mm256_fmadd_ps(_mm256_and_ps(a.h[k], m.h[k]), b.h[k], c.h[k]));
}
#define _mm512_mask3_fmadd_ps p_mask3_fma
