/* What memory allows: the rows of a triple's three texts are read and added up, then each is read
   and written. `benchmarks.probe` compiles it for one kind of NUMBER and one WIDTH of the rows, which
   are aligned to cache lines, so that the sums stay in registers. */

#include <stdint.h>

#if defined(HALVES) && defined(__AVX512F__) /* compilers convert halves one by one */
#include <immintrin.h>
#define LANES 16
#define READ(at) (floats)_mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(at)))
#define WRITE(at, x) _mm256_store_si256((__m256i *)(at), _mm512_cvtps_ph((__m512)(x), 0))
#elif defined(HALVES) && defined(__F16C__)
#include <immintrin.h>
#define LANES 8
#define READ(at) (floats)_mm256_cvtph_ps(_mm_load_si128((const __m128i *)(at)))
#define WRITE(at, x) _mm_store_si128((__m128i *)(at), _mm256_cvtps_ph((__m256)(x), 0))
#else
#ifdef __AVX512F__
#define LANES 16
#else
#define LANES 8
#endif
#define READ(at) __builtin_convertvector(*(const numbers *)(at), floats)
#define WRITE(at, x) (*(numbers *)(at) = __builtin_convertvector(x, numbers))
#endif

enum { PARTS = WIDTH / LANES, AHEAD = 8 }; /* words whose rows are asked for ahead */
typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
typedef NUMBER numbers __attribute__((vector_size(LANES * sizeof(NUMBER)), may_alias));

static inline void ask(const NUMBER *row) {
    for (int at = 0; at < WIDTH; at += 64 / sizeof(NUMBER))
        __builtin_prefetch(row + at, 1);
}

static void text(NUMBER *rows, const int32_t *words, int64_t n, floats *all, float factor) {
    floats sums[PARTS];
    for (int j = 0; j < PARTS; j++)
        sums[j] = all[j];
    for (int64_t i = 0; i < n && i < AHEAD; i++)
        ask(rows + (int64_t)words[i] * WIDTH);
    for (int64_t i = 0; i < n; i++) {
        const NUMBER *row = rows + (int64_t)words[i] * WIDTH;
        if (i + AHEAD < n)
            ask(rows + (int64_t)words[i + AHEAD] * WIDTH);
#pragma GCC unroll 32
        for (int j = 0; j < PARTS; j++)
            sums[j] += READ(row + j * LANES);
    }
    for (int64_t i = 0; i < n; i++) {
        NUMBER *row = rows + (int64_t)words[i] * WIDTH;
        if (i + AHEAD < n)
            ask(rows + (int64_t)words[i + AHEAD] * WIDTH);
#pragma GCC unroll 32
        for (int j = 0; j < PARTS; j++)
            WRITE(row + j * LANES, READ(row + j * LANES) + factor * sums[j]);
    }
    for (int j = 0; j < PARTS; j++)
        all[j] = sums[j];
}

void probe(NUMBER *U, NUMBER *V, const int64_t *start, const int32_t *words,
           const int64_t *triples, float *sums, int64_t n, float factor) {
    floats *all = (floats *)sums;
    for (const int64_t *triple = triples; triple < triples + 3 * n; triple += 3) {
        for (int j = 0; j < PARTS; j++)
            all[j] = (floats){0};
        for (int side = 0; side < 3; side++) {
            int64_t first = start[triple[side]], last = start[triple[side] + 1];
            text(side ? V : U, words + first, last - first, all, factor);
        }
    }
}
