// SPDX-License-Identifier: Apache-2.0
//
// A table that many threads read and one changes, with the standard library's guards; and a writer
// that continues as a reader, with no other writer in between.
//
//   read_write_lock SERVERS      or ZKR_SERVERS; "127.0.0.1:2181"

#include "zkrecipes/read_write_lock.h"

#include <cstdlib>
#include <future>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <syncstream>
#include <system_error>
#include <vector>

#include "zkrecipes/client.h"
#include "zkrecipes/std_adapters.h"

namespace {

constexpr char kPath[] = "/examples/table";

// Stands for something that other machines use as well.
struct Table {
  int version = 0;
};

void Read(zkrecipes::DistributedSharedMutex& mutex, const Table& table, int reader) {
  const std::shared_lock reading(mutex);
  std::osyncstream(std::cout) << "reader " << reader << " sees version " << table.version
                              << std::endl;
}

void Change(zkrecipes::DistributedSharedMutex& mutex, Table& table) {
  const std::unique_lock writing(mutex);
  ++table.version;
  std::osyncstream(std::cout) << "changed with token " << mutex.lease().token() << std::endl;
}

absl::Status ChangeAndReadOn(zkrecipes::ReadWriteLock lock, Table& table) {
  auto writing = lock.AcquireExclusive({absl::Seconds(30)});
  if (!writing.ok()) return writing.status();
  ++table.version;
  auto reading = lock.Downgrade(*writing, {absl::Seconds(30)});
  if (!reading.ok()) return reading.status();
  std::cout << "still version " << table.version << ", and others read, too" << std::endl;
  return absl::OkStatus();
}

int Fail(const absl::Status& status) {
  std::cerr << status << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const char* servers = argc > 1 ? argv[1] : std::getenv("ZKR_SERVERS");
  if (servers == nullptr) {
    std::cerr << "usage: read_write_lock SERVERS\n";
    return 2;
  }
  auto client = zkrecipes::Client::Connect({.servers = servers}, {absl::Seconds(10)});
  if (!client.ok()) return Fail(client.status());

  zkrecipes::DistributedSharedMutex mutex(*client, kPath);
  Table table;
  Change(mutex, table);
  std::vector<std::future<void>> readers;
  for (int i = 1; i <= 3; ++i) {
    readers.push_back(std::async(std::launch::async, [&, i] { Read(mutex, table, i); }));
  }
  for (auto& reader : readers) reader.get();
  const absl::Status changed = ChangeAndReadOn({*client, kPath}, table);
  return changed.ok() ? 0 : Fail(changed);
} catch (const std::system_error& e) {  // from the guards
  return Fail(absl::UnknownError(e.what()));
}
