// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RESOURCES_HTTP_SERVER_H_
#define ZKRECIPES_INTEGRATION_RESOURCES_HTTP_SERVER_H_

#include <httplib.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace resources {

// An HTTP server on a thread of its own, on a port of the loopback, which it keeps when it starts
// again.
class HttpServer {
 public:
  HttpServer() = default;
  ~HttpServer() { Stop(); }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // `route` says what it serves. False: it cannot listen.
  bool Start(const std::function<void(httplib::Server&)>& route) {
    server_ = std::make_unique<httplib::Server>();
    server_->set_tcp_nodelay(true);
    server_->set_keep_alive_timeout(1);
    server_->set_keep_alive_max_count(1'000'000'000);
    server_->new_task_queue = [] { return new httplib::ThreadPool(32); };
    route(*server_);
    if (port_ != 0 ? !server_->bind_to_port("127.0.0.1", port_)
                   : (port_ = server_->bind_to_any_port("127.0.0.1")) < 0) {
      return false;
    }
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    while (!server_->is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  }
  void Stop() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  std::unique_ptr<httplib::Server> server_;
  std::thread thread_;
  int port_ = 0;
};

inline std::unique_ptr<httplib::Client> HttpClient(const std::string& address) {
  auto client = std::make_unique<httplib::Client>("http://" + address);
  client->set_keep_alive(true);
  client->set_tcp_nodelay(true);
  return client;
}

}  // namespace resources

#endif  // ZKRECIPES_INTEGRATION_RESOURCES_HTTP_SERVER_H_
