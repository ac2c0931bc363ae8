// SPDX-License-Identifier: Apache-2.0
//
// The listings of docs/fencing.md, run: scripts/check_docs.py finds each of them here or in an
// example.

#include <hiredis/hiredis.h>
#include <libpq-fe.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/resources/kinds.h"
#include "lib/fencing/object_store_fixture.h"
#include "testing/local/work_directory.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/fencing/fenced_file.h"
#include "zkrecipes/fencing/fenced_http.h"
#include "zkrecipes/fencing/fenced_object.h"
#include "zkrecipes/fencing/fenced_postgres.h"
#include "zkrecipes/fencing/fenced_redis.h"
#include "zkrecipes/fencing/fencing_gate.h"
#include "zkrecipes/fencing/floor_database.h"
#include "zkrecipes/guarded_write.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace resources {
namespace {

using zkrecipes::AddFenceColumns;
using zkrecipes::Client;
using zkrecipes::CommitFenced;
using zkrecipes::FencedClauses;
using zkrecipes::FencedFile;
using zkrecipes::FencedObject;
using zkrecipes::FencingFloor;
using zkrecipes::FencingGate;
using zkrecipes::FencingPass;
using zkrecipes::FencingSchema;
using zkrecipes::GuardTable;
using zkrecipes::Lease;
using zkrecipes::Lock;
using zkrecipes::Sequencer;
using zkrecipes::WriteOp;
using zkrecipes::fencing::StoredObject;
using zkrecipes::fencing::StoredObjectTransport;

// A lease whose session has expired without its client's knowledge, and its successor's. Each
// listing is run by the new holder, and refuses the old one.
class FencingListings : public ::testing::Test {
 protected:
  FencingListings() {
    ensemble_.Pause(*old_client_);
    ensemble_.Advance(absl::Minutes(1));
    new_.emplace(*Lock(client_, "/locks/ledger").Acquire());
  }

  using Store = std::function<absl::Status(const Lease&)>;
  void ExpectFenced(const Store& store) {
    EXPECT_EQ(store(*new_), absl::OkStatus());
    EXPECT_EQ(store(*new_), absl::OkStatus()) << "a holder writes many times";
    EXPECT_EQ(store(old_).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(store(*new_), absl::OkStatus());
  }

  zkrecipes::testing::InMemoryEnsemble ensemble_;
  std::shared_ptr<Client> old_client_ = *ensemble_.Connect();
  std::shared_ptr<Client> client_ = *ensemble_.Connect();
  Lease old_ = *Lock(old_client_, "/locks/ledger").Acquire();
  std::optional<Lease> new_;
};

TEST_F(FencingListings, AFloorOfYourOwn) {
  FencingFloor floor;
  std::vector<std::string> entries;
  const auto append = [&](const FencingPass& pass, const std::string& entry) {
    absl::Status status = floor.Admit(pass);  // raises the floor
    if (!status.ok()) return status;          // FailedPrecondition: the holder has lost the lock
    entries.push_back(entry);
    return absl::OkStatus();
  };
  ExpectFenced([&](const Lease& lease) { return append(lease.pass(), "entry"); });
}

TEST_F(FencingListings, AGate) {
  const auto directory = *zkrecipes::testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  const std::string path = directory.path() + "/gate";
  std::mutex mutex;  // what makes an operation on the ledger atomic
  std::vector<std::string> entries;
  // Once:
  ASSERT_EQ(zkrecipes::CreateFloorDatabase(path), absl::OkStatus());
  auto store = zkrecipes::OpenFloorDatabase(path);
  ASSERT_TRUE(store.ok()) << store.status();
  const std::unique_ptr<FencingGate> gate = *FencingGate::Open({.store = *std::move(store)});
  const auto append = [&](const FencingPass& pass, const std::string& entry) {
    const std::lock_guard lock(mutex);
    absl::Status status = gate->Admit("ledger/7", pass);
    if (status.ok()) entries.push_back(entry);
    return status;
  };
  ExpectFenced([&](const Lease& lease) { return append(lease.pass(), "entry"); });
}

class PostgresListings : public FencingListings {
 protected:
  PostgresListings() : server_(*StartPostgres(/*durable=*/false)) {
    connection_.reset(PQconnectdb(server_->address().c_str()));
    EXPECT_EQ(Do("CREATE TABLE accounts (id int PRIMARY KEY, balance int);"
                 "INSERT INTO accounts VALUES (7, 10)"),
              absl::OkStatus());
  }
  absl::Status Do(const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection_.get(), sql.c_str()), &PQclear);
    return zkrecipes::PostgresStatus(result.get());
  }
  std::unique_ptr<Server> server_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_{nullptr, &PQfinish};
};

TEST_F(PostgresListings, Columns) {
  PGconn* const connection = connection_.get();
  // Once:
  ASSERT_EQ(AddFenceColumns(connection, {"", "accounts"}), absl::OkStatus());
  ExpectFenced([&](const Lease& lease) {
    return UpdateFenced(connection, {{"", "accounts"}, {{"id", "7"}}, {{"balance", "12"}}},
                        lease.pass());
  });
  ExpectFenced([&](const Lease& lease) {
    const FencedClauses fence = *zkrecipes::FenceClauses(lease.pass());
    const std::string sql = "UPDATE accounts SET balance = balance - 5, " + fence.set +
                            " WHERE id = 7 AND " + fence.where;
    PGresult* const result = PQexec(connection, sql.c_str());
    absl::Status status = zkrecipes::FencedOutcome(result);
    PQclear(result);
    return status;
  });
}

TEST_F(PostgresListings, Trigger) {
  PGconn* const connection = connection_.get();
  ASSERT_EQ(Do(FencingSchema()), absl::OkStatus());
  // Once: from then on every write to the table must show a pass.
  ASSERT_EQ(GuardTable(connection, {"", "accounts"}, "accounts"), absl::OkStatus());
  ExpectFenced([&](const Lease& lease) {
    PQclear(PQexec(connection, "BEGIN"));
    absl::Status status = ShowPass(connection, "accounts", lease.pass());
    if (status.ok()) status = Do("UPDATE accounts SET balance = balance - 5 WHERE id = 7");
    const absl::Status committed = CommitFenced(connection);
    return status.ok() ? committed : status;
  });
  EXPECT_EQ(Do("UPDATE accounts SET balance = 0").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(FencingListings, Redis) {
  const std::unique_ptr<Server> server = *StartRedis(/*durable=*/false);
  const std::unique_ptr<redisContext, decltype(&redisFree)> owned(
      redisConnectUnix(server->address().c_str()), &redisFree);
  redisContext* const context = owned.get();
  ExpectFenced([&](const Lease& lease) {
    // The floor's key, the keys that the command touches, the command.
    return RunFenced(context,
                     {"{ledger}:floor", {"{ledger}:balance"}, {"SET", "{ledger}:balance", "12"}},
                     lease.pass())
        .status();
  });
}

TEST_F(FencingListings, AFile) {
  const auto directory = *zkrecipes::testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  const std::string path = directory.path() + "/file";
  FencedFile file(path);
  ASSERT_EQ(file.Create(), absl::OkStatus());  // once, when the system is set up
  ExpectFenced([&](const Lease& lease) -> absl::Status {
    // Shuts older holders out, too.
    const absl::StatusOr<std::string> before = file.Claim(lease.pass());
    if (!before.ok()) return before.status();
    return file.Write(lease.pass(), *before + "a line\n");
  });
}

absl::Status StatusOf(int status, const std::string& floor) {
  const absl::Status fenced = zkrecipes::CheckHttpAnswer(status, floor);
  if (!fenced.ok() || (status >= 200 && status < 300)) return fenced;
  return absl::UnknownError(absl::StrCat("not done: the service answered ", status));
}

TEST_F(FencingListings, AnHttpClient) {
  for (const int not_done : {302, 401, 412, 428, 500, 503}) {
    EXPECT_FALSE(StatusOf(not_done, "").ok()) << not_done;
  }
  const std::unique_ptr<FencingGate> gate = *FencingGate::Open();
  std::vector<std::pair<std::string, std::string>> headers;
  ExpectFenced([&](const Lease& lease) {
    headers = {{zkrecipes::kFencingTokenHeader, zkrecipes::ToHttpHeader(lease.pass())}};
    // ... the service answers with a status and maybe a Fencing-Floor:
    const auto refusal = AdmitRequest(*gate, "7", {headers[0].second});
    const int status = refusal ? refusal->status : 200;
    const std::string floor = refusal ? refusal->headers.at(0).second : "";
    return StatusOf(status, floor);
  });
}

TEST_F(FencingListings, AnObject) {
  StoredObject store;
  auto transport = std::make_unique<StoredObjectTransport>(store);
  FencedObject object(std::move(transport));
  ASSERT_EQ(object.Create(), absl::OkStatus());  // once, when the system is set up
  ExpectFenced([&](const Lease& lease) { return object.Write(lease.pass(), "the report"); });
}

TEST_F(FencingListings, WhatIsKeptInZooKeeper) {
  ASSERT_EQ(GuardedWrite(*new_, {WriteOp::Create("/ledger", "10")}), absl::OkStatus());
  const auto write = [](const Lease& lease, const std::string& entry) {
    return GuardedWrite(lease,
                        {WriteOp::Set("/ledger", "12"), WriteOp::Create("/ledger/" + entry, "2")});
  };
  EXPECT_EQ(write(*new_, "1"), absl::OkStatus());
  EXPECT_EQ(write(*new_, "1").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(write(old_, "2").code(), absl::StatusCode::kAborted);
}

TEST_F(FencingListings, AServiceThatAsks) {
  const std::string request = new_->sequencer().ToString();
  const std::string old_request = old_.sequencer().ToString();
  const auto serve = [&](const std::string& text) -> absl::Status {
    const absl::StatusOr<Sequencer> sequencer = Sequencer::Parse(text);
    if (!sequencer.ok()) return sequencer.status();
    const absl::StatusOr<bool> holds = CheckSequencer(*client_, *sequencer);
    if (!holds.ok()) return holds.status();
    return *holds ? absl::OkStatus() : absl::FailedPreconditionError("it no longer holds");
  };
  EXPECT_EQ(serve(request), absl::OkStatus());
  EXPECT_EQ(serve(old_request).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(FencingListings, ADeviceThatChecksNothing) {
  Lock lock(client_, "/locks/arm", {.lock_delay = absl::Minutes(2)});
  EXPECT_TRUE(lock.Acquire().ok());
}

}  // namespace
}  // namespace resources
