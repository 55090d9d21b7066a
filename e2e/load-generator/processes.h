// Processor time and memory of other processes, read from the kernel.
#ifndef PROCESSES_H
#define PROCESSES_H

// Processor time of a process and its threads so far, in milliseconds.
double process_cpu_ms(int pid);

// Resident memory of a process, in bytes.
double process_resident_bytes(int pid);

#endif
