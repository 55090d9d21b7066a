// Processor time and memory of other processes (proc(5)).
#include "processes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"

static void read_file(int pid, const char *name, char *text, size_t capacity) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) fail("process %d does not exist", pid);
    size_t length = fread(text, 1, capacity - 1, file);
    text[length] = '\0';
    fclose(file);
}

double process_cpu_ms(int pid) {
    char text[1024];
    read_file(pid, "stat", text, sizeof text);
    unsigned long user = 0, kernel = 0;
    // The name of the program, in brackets, may have spaces and brackets itself.
    const char *rest = strrchr(text, ')');
    if (rest == NULL || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
        fail("the times of process %d cannot be read", pid);
    return 1000.0 * (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

double process_resident_bytes(int pid) {
    char text[256];
    read_file(pid, "statm", text, sizeof text);
    unsigned long pages = 0;
    if (sscanf(text, "%*u %lu", &pages) != 1) fail("the memory of process %d cannot be read", pid);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}
