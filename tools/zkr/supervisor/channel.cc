// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "absl/time/time.h"

namespace zkrecipes::zkr::supervisor {
namespace {

struct Header {
  MessageKind kind;
  std::int64_t value;
  std::int64_t sent_ns;
};

union Control {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))];
};

void Attach(int fd, Control& control, msghdr& packet) {
  packet.msg_control = &control;
  packet.msg_controllen = CMSG_SPACE(sizeof(fd));
  cmsghdr* part = CMSG_FIRSTHDR(&packet);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(fd));
  std::memcpy(CMSG_DATA(part), &fd, sizeof(fd));
}

// The kernel translates the sender to the receiver's PID namespace. This is the only way to learn
// from outside which pid a process of another namespace has here.
void TakeAttached(msghdr* packet, Message& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(packet); part != nullptr; part = CMSG_NXTHDR(packet, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(part), sizeof(credentials));
      message.sender = credentials.pid;
    } else if (part->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
      message.passed = base::UniqueFd(fd);
    }
  }
}

}  // namespace

ChannelPair Channel::Pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) return {};
  ChannelPair pair{Channel(base::UniqueFd(fds[0])), Channel(base::UniqueFd(fds[1]))};
  const int on = 1;
  for (const int fd : fds) {
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) return {};
  }
  return pair;
}

bool Channel::Send(const Message& message) const { return SendWithFlags(message, 0); }

bool Channel::TrySend(const Message& message) const { return SendWithFlags(message, MSG_DONTWAIT); }

bool Channel::SendWithFlags(const Message& message, int flags) const {
  const auto now = base::BootNow().since_boot();
  Header header{message.kind, message.value, absl::ToInt64Nanoseconds(now)};
  iovec parts[2] = {{&header, sizeof(header)},
                    {const_cast<char*>(message.text.data()), message.text.size()}};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  Control control{};
  if (message.passed.valid()) Attach(message.passed.get(), control, packet);
  ssize_t sent = 0;
  do {
    sent = sendmsg(fd_.get(), &packet, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

std::optional<Message> Channel::Receive() const {
  std::string text(std::size_t{256} << 10, '\0');
  Header header{};
  iovec parts[2] = {{&header, sizeof(header)}, {text.data(), text.size()}};
  Control control{};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  packet.msg_control = &control;
  packet.msg_controllen = sizeof(control);
  ssize_t got = 0;
  // ECONNRESET, once: the other side ended and left something of ours unread. What it had sent
  // before is still to be received.
  do {
    got = recvmsg(fd_.get(), &packet, MSG_CMSG_CLOEXEC);
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < static_cast<ssize_t>(sizeof(header))) return std::nullopt;
  text.resize(static_cast<std::size_t>(got) - sizeof(header));
  Message message{header.kind, header.value, std::move(text)};
  TakeAttached(&packet, message);
  message.sent = base::BootTime::SinceBoot(absl::Nanoseconds(header.sent_ns));
  return message;
}

}  // namespace zkrecipes::zkr::supervisor
