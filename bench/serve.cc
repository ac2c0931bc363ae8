// SPDX-License-Identifier: Apache-2.0

#include "bench/serve.h"

#include <cstdio>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

namespace bench {

int Serve(const Entrant& entrant) {
  std::unique_ptr<Contestant> holder;
  std::cout << "{}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const nlohmann::json task = nlohmann::json::parse(line);
    if (task.at("run") != "hold") return std::fprintf(stderr, "cannot %s\n", line.c_str()), 1;
    holder = entrant.connect({task.at("servers"), task.at("path"), task.at("session_ms")});
    holder->Acquire(Mode::kExclusive);
    std::cout << R"({"value": 0})" << std::endl;
  }
  return 0;
}

}  // namespace bench
