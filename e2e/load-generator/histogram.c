// Durations in buckets: exact below 128 ns, then 128 buckets for each doubling.
#include "histogram.h"

#include <math.h>

static unsigned bucket_of(uint64_t ns) {
    if (ns < HISTOGRAM_BUCKETS_PER_OCTAVE) return (unsigned)ns;
    unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - 7;
    unsigned bucket = (shift + 1) * HISTOGRAM_BUCKETS_PER_OCTAVE + (unsigned)((ns >> shift) & 127);
    unsigned last = HISTOGRAM_OCTAVES * HISTOGRAM_BUCKETS_PER_OCTAVE - 1;
    return bucket < last ? bucket : last;
}

// The middle of a bucket.
static double duration_of(unsigned bucket) {
    if (bucket < HISTOGRAM_BUCKETS_PER_OCTAVE) return bucket;
    unsigned shift = bucket / HISTOGRAM_BUCKETS_PER_OCTAVE - 1;
    return ldexp(HISTOGRAM_BUCKETS_PER_OCTAVE + bucket % HISTOGRAM_BUCKETS_PER_OCTAVE + 0.5, (int)shift);
}

void histogram_add(Histogram *histogram, uint64_t ns) {
    histogram->counts[bucket_of(ns)]++;
    histogram->total++;
    if (ns > histogram->max_ns) histogram->max_ns = ns;
}

double histogram_micros(const Histogram *histogram, double share) {
    uint64_t wanted = (uint64_t)ceil(share * (double)histogram->total);
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_OCTAVES * HISTOGRAM_BUCKETS_PER_OCTAVE; bucket++) {
        seen += histogram->counts[bucket];
        if (seen >= wanted && seen > 0) return duration_of(bucket) / 1000;
    }
    return 0;
}
