// SPDX-License-Identifier: Apache-2.0
//
// For LD_PRELOAD: the process's wall clock is off by as many nanoseconds as the file named by
// $ZKRECIPES_WALL_CLOCK says (an int64_t, which may change at any time). All other clocks and every
// way to wait stay what they are; but a wait until a time of the wall clock waits for the real one.
// (Debian's libfaketime shifts absolute timers on every clock, which no change of a clock does.)

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr int64_t kSecond = 1'000'000'000;

using ClockGettime = int (*)(clockid_t, timespec*);

const std::atomic<int64_t>* Map() {
  static const std::atomic<int64_t> kNone = 0;
  const char* name = getenv("ZKRECIPES_WALL_CLOCK");
  const int fd = name == nullptr ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return &kNone;
  void* mapped = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return mapped == MAP_FAILED ? &kNone : static_cast<const std::atomic<int64_t>*>(mapped);
}

int64_t Offset() {
  static const std::atomic<int64_t>* const kOffset = Map();
  return kOffset->load(std::memory_order_relaxed);
}

// From the start, to be seen in /proc/<pid>/maps: our own library never asks for this clock.
[[gnu::constructor]] void MapIt() { Offset(); }

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto kReal = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = kReal(clock, now);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  const int64_t shifted = now->tv_sec * kSecond + now->tv_nsec + Offset();
  now->tv_sec = shifted / kSecond;
  now->tv_nsec = shifted % kSecond;
  return 0;
}

extern "C" int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

extern "C" time_t time(time_t* now) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}
