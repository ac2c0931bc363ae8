// SPDX-License-Identifier: Apache-2.0
//
// The clauses of fencing_sql.h in a real MariaDB, beside the rule itself, through lost connections
// and crashes of the server.

#include <mysql.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/resources/private_server.h"
#include "zkrecipes/fencing/fencing_floor.h"
#include "zkrecipes/fencing/fencing_sql.h"

namespace resources {
namespace {

using zkrecipes::FencingFloor;
using zkrecipes::FencingPass;
using zkrecipes::FencingToken;
using Connection = std::unique_ptr<MYSQL, decltype(&mysql_close)>;

class MariadbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto process = PrivateServer::Make();
    ASSERT_TRUE(process.ok()) << process.status();
    process_ = *std::move(process);
    std::filesystem::create_directory(process_->directory() + "/data");
    Start();
  }
  // It makes its own files in an empty directory; without tables of users it asks for no password.
  void Start() {
    ASSERT_EQ(process_->Start({MARIADBD, "--no-defaults", "--user=root", "--skip-grant-tables",
                               "--skip-networking", "--datadir=" + process_->directory() + "/data",
                               "--socket=" + Socket(), "--innodb-log-file-size=4M",
                               "--innodb-buffer-pool-size=8M"},
                              [this] { return Connect("") != nullptr; }),
              absl::OkStatus());
  }
  std::string Socket() const { return process_->directory() + "/mariadb.sock"; }
  Connection Connect(const std::string& database) const {
    Connection connection(mysql_init(nullptr), &mysql_close);
    if (mysql_real_connect(connection.get(), nullptr, "root", nullptr,
                           database.empty() ? nullptr : database.c_str(), 0, Socket().c_str(),
                           CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS) == nullptr) {
      return {nullptr, &mysql_close};
    }
    return connection;
  }
  static void Do(MYSQL* connection, const std::string& sql) {
    ASSERT_EQ(mysql_query(connection, sql.c_str()), 0) << sql << ": " << mysql_error(connection);
  }
  static std::string Ask(MYSQL* connection, const std::string& sql) {
    Do(connection, sql);
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
        mysql_store_result(connection), &mysql_free_result);
    return result == nullptr ? "" : mysql_fetch_row(result.get())[0];
  }

  std::unique_ptr<PrivateServer> process_;
};

TEST_F(MariadbTest, RandomHoldersAreAdmittedAsTheRuleSaysThroughLostConnectionsAndCrashes) {
  Connection c = Connect("");
  ASSERT_NE(c, nullptr);
  Do(c.get(), "CREATE DATABASE zkr");
  c = Connect("zkr");
  Do(c.get(),
     "CREATE TABLE ledger (id int PRIMARY KEY, balance int, fence_epoch bigint NOT NULL DEFAULT 0, "
     "fence bigint NOT NULL DEFAULT 0, fence_shared bigint NOT NULL DEFAULT 0, "
     "fence_turn bigint NOT NULL DEFAULT 0)");
  Do(c.get(), "INSERT INTO ledger (id, balance) VALUES (7, 0)");
  std::mt19937 random(35);  // NOLINT(cert-msc51-cpp)
  FencingFloor model;
  int admitted = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    // Beyond what a double holds exactly.
    const int64_t base = (1LL << 60) + i / 50;
    FencingPass pass = {.token = FencingToken(base + static_cast<int64_t>(random() % 9)),
                        .mode = random() % 2 == 0 ? zkrecipes::GrantMode::kShared
                                                  : zkrecipes::GrantMode::kExclusive,
                        .epoch = i / 500};
    // A token has turns or none: here the even ones have.
    const auto has_turns = [](FencingToken token) { return token.value() % 2 == 0; };
    if (pass.mode == zkrecipes::GrantMode::kExclusive && has_turns(pass.token)) {
      pass.turn = 1 + random() % 12;
    }
    const bool expected = FencingFloor(model).Admit(pass).ok();
    (expected ? admitted : refused)++;
    const auto clauses = zkrecipes::FenceClauses(pass);
    ASSERT_TRUE(clauses.ok()) << clauses.status();
    const bool in_transaction = random() % 4 == 0, commits = random() % 2 == 0;
    if (in_transaction) Do(c.get(), "START TRANSACTION");
    Do(c.get(), absl::StrCat("UPDATE ledger SET balance = balance + 1, ", clauses->set,
                             " WHERE id = 7 AND ", clauses->where));
    ASSERT_EQ(mysql_affected_rows(c.get()), expected ? 1u : 0u) << i;
    if (in_transaction && commits) Do(c.get(), "COMMIT");
    if (expected && (!in_transaction || commits)) (void)model.Admit(pass);
    if (expected && in_transaction && !commits) --admitted;
    if (in_transaction) c = Connect("zkr");  // lost; what was not committed is rolled back
    if (i % 500 == 499) {
      process_->Kill();
      Start();
      c = Connect("zkr");
    }
    ASSERT_NE(c, nullptr);
    ASSERT_EQ(Ask(c.get(),
                  "SELECT CONCAT_WS(' ', balance, fence_epoch, fence, fence_shared, "
                  "IF(fence > 0 AND fence % 2 = 0, fence_turn, 0)) FROM ledger FOR UPDATE"),
              absl::StrCat(admitted, " ", model.epoch, " ", model.exclusive.value(), " ",
                           model.shared.value(), " ", model.turn))
        << i;
  }
  EXPECT_GT(admitted, 200);
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace resources
