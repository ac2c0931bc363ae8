// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_RUNNING_THREADS_H_
#define ZKRECIPES_TESTING_MEMORY_RUNNING_THREADS_H_

namespace zkrecipes::testing::memory {

// Whether another thread of this process runs, or would if it had a processor; false if the kernel does
// not say. One that was woken up counts from that moment on.
bool AnotherThreadRuns();

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_RUNNING_THREADS_H_
