// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_WEATHER_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_WEATHER_H_

#include <optional>
#include <string>

namespace zkrecipes::explore::schedules {

// How much goes wrong.
enum class Weather {
  kCalm,       // nothing: every order of what happens by itself
  kRough,      // connections break, clients move between servers, users change their minds
  kStorm,      // everything
  kPartition,  // servers are cut off and elected
  kEdge,       // clocks, pings and links at the edge of what leases assume of them
};
const char* NameOf(Weather weather);
std::optional<Weather> ParseWeather(const std::string& name);

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_WEATHER_H_
