// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_TIMELINE_TIMELINE_PAGE_H_
#define ZKRECIPES_VERIFICATION_TIMELINE_TIMELINE_PAGE_H_

namespace zkrecipes::history {

// The files of page/ in one; "@DATA@" stands where the run is to be. Made by CMake.
extern const char kTimelinePage[];

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_TIMELINE_TIMELINE_PAGE_H_
