// Durations in buckets whose width is less than 1 % of the duration.
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS_PER_OCTAVE 128
#define HISTOGRAM_OCTAVES 40

typedef struct {
    uint64_t counts[HISTOGRAM_OCTAVES * HISTOGRAM_BUCKETS_PER_OCTAVE];
    uint64_t total;
    uint64_t max_ns;
} Histogram;

void histogram_add(Histogram *histogram, uint64_t ns);

// The duration in microseconds that `share` (0 to 1) of all are not above; 0 without any.
double histogram_micros(const Histogram *histogram, double share);

#endif
