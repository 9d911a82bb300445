// How many multiply-adds one core starts: CHAINS independent ones of VECTOR
// bytes. The numbers come from memory; they are zeros, but the compiler cannot
// know.
typedef TYPE vector __attribute__((vector_size(VECTOR), aligned(sizeof(TYPE)), may_alias));

enum { LANES = VECTOR / sizeof(TYPE), CHAINS = 12 };

void fma_chains(const TYPE *x, TYPE *out, long rounds) {
    const vector factor = *(const vector *)x, addend = *(const vector *)(x + LANES);
    vector v[CHAINS];
    for (int k = 0; k < CHAINS; k++) v[k] = *(const vector *)(x + (2 + k) * LANES);
    for (long r = 0; r < rounds; r++)
        for (int k = 0; k < CHAINS; k++) v[k] = v[k] * factor + addend;
    for (int k = 1; k < CHAINS; k++) v[0] += v[k];
    *(vector *)out = v[0];
}
