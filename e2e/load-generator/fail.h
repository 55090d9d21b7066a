// Ends the program with a reason: a measurement in which anything went wrong has no result.
#ifndef FAIL_H
#define FAIL_H

void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

// malloc() that does not fail.
void *allocate(unsigned long size);

#endif
