// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-worker: see worker.h.

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"

#include "verification/workload/worker/worker.h"

int main(int argc, char** argv) {
  zkrecipes::history::WorkerOptions options;
  int64_t session_timeout_ms = absl::ToInt64Milliseconds(options.session_timeout);
  CLI::App app("takes turns with zkrecipes, and records what it sees", "zkrecipes-worker");
  app.add_option("--servers", options.servers, "host:port,host:port/namespace")->required();
  app.add_option("--name", options.name, "who it is in its history")->required();
  app.add_option("--history", options.history, "the file to make")->required();
  app.add_option("--root", options.root, "the node that all paths are below")
      ->capture_default_str();
  app.add_option("--paths", options.paths, "of each recipe")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--recipes", options.recipes, "which it mixes")
      ->delimiter(',')
      ->check(CLI::IsMember(std::set<std::string>{"lock", "strict", "read_write", "election"}))
      ->capture_default_str();
  app.add_option("--loops", options.loops, "threads that take turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--session-timeout", session_timeout_ms, "in milliseconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "what it chooses by")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.session_timeout = absl::Milliseconds(session_timeout_ms);
  return zkrecipes::history::RunWorker(options);
}
