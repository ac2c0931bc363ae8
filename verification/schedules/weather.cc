// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/weather.h"

namespace zkrecipes::explore::schedules {

const char* NameOf(Weather weather) {
  switch (weather) {
    case Weather::kCalm:
      return "calm";
    case Weather::kRough:
      return "rough";
    case Weather::kStorm:
      return "storm";
    case Weather::kPartition:
      return "partition";
    case Weather::kEdge:
      break;
  }
  return "edge";
}

std::optional<Weather> ParseWeather(const std::string& name) {
  for (const Weather weather :
       {Weather::kCalm, Weather::kRough, Weather::kStorm, Weather::kPartition, Weather::kEdge}) {
    if (name == NameOf(weather)) return weather;
  }
  return std::nullopt;
}

}  // namespace zkrecipes::explore::schedules
