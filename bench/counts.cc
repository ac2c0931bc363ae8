// SPDX-License-Identifier: Apache-2.0

#include "bench/counts.h"

#include <malloc.h>
#include <sys/resource.h>

#include <atomic>
#include <cstddef>

// glibc's own allocator, under the names that it keeps for programs which wrap it as this one does.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
}

namespace {
std::atomic<int64_t> all_allocations = 0;
void CountOne() { all_allocations.fetch_add(1, std::memory_order_relaxed); }
}  // namespace

extern "C" {
void* malloc(size_t size) noexcept {
  CountOne();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) noexcept {
  CountOne();
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) noexcept {
  CountOne();
  return __libc_realloc(block, size);
}
}

namespace bench {

Counts Counts::Now() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& t) { return t.tv_sec * 1e6 + t.tv_usec; };
  return {.cpu_us = micros(usage.ru_utime) + micros(usage.ru_stime),
          .voluntary_switches = usage.ru_nvcsw,
          .allocations = all_allocations.load()};
}

double Allocated() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

Counts operator-(const Counts& a, const Counts& b) {
  return {a.cpu_us - b.cpu_us, a.voluntary_switches - b.voluntary_switches,
          a.allocations - b.allocations};
}

}  // namespace bench
