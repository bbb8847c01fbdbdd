#include "stager/daemon/base/closing_process.h"

#include "stager/daemon/base/children.h"
#include "transport/os/descriptors.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>
#include <vector>

namespace stage {
namespace {

/// A child needs milliseconds. After that another one is started.
constexpr Duration kChildMax = std::chrono::seconds{2};

}  // namespace

ClosingProcess::ClosingProcess(Loop& loop,
                               Children& children,
                               const Logger& log,
                               std::uint32_t role)
    : loop_{loop}, children_{children}, log_{log}, role_{role}, alarm_{loop, [this] {
                                                                           on_time();
                                                                       }} {
}

ClosingProcess::~ClosingProcess() {
    for (UniqueFd& socket : waiting_) {
        static_cast<void>(socket.release());
    }
}

void ClosingProcess::close(UniqueFd socket) {
    waiting_.push_back(std::move(socket));
    if (!is_busy_) {
        start();
    }
}

void ClosingProcess::start() {
    is_busy_ = true;
    auto child = children_.start_role(role_, SOCK_SEQPACKET, [this](const SpawnEvent& event) {
        if (event.id == child_) {
            on_event(event);
        }
    });
    alarm_.set(loop_.now() + kChildMax);
    if (child) {
        child_ = child->id;
        to_child_ = std::move(child->socket);
    }
}

/// The child gets nothing before it runs: if it could not be forked, the spawner would close
/// what is in its socket.
void ClosingProcess::on_event(const SpawnEvent& event) {
    switch (event.kind) {
        case SpawnEvent::Kind::started:
            hand_over();
            children_.kill(event.pid, SIGKILL);
            break;
        case SpawnEvent::Kind::failed:
            to_child_.reset();  // The alarm starts another one.
            break;
        case SpawnEvent::Kind::ended:
            go_on();
            break;
    }
}

/// Hands over as many sockets as the connection to the child holds.
void ClosingProcess::hand_over() {
    constexpr std::array kOneByte{std::byte{0}};
    bool is_full = false;
    while (!waiting_.empty() && !is_full) {
        std::vector<int> fds;
        for (std::size_t i = 0; i < std::min(waiting_.size(), kSpawnFdsMax); ++i) {
            fds.push_back(waiting_[i].get());
        }
        is_full = !send_with_descriptors(to_child_.get(), kOneByte, fds);
        for (std::size_t i = 0; i < fds.size() && !is_full; ++i) {
            waiting_.pop_front();
        }
    }
    to_child_.reset();
}

void ClosingProcess::on_time() {
    log_.warn(
        "the process that closes users' connections to the control socket does not "
        "start or end; starting another one",
        {{"waiting", waiting_.size()}});
    go_on();
}

void ClosingProcess::go_on() {
    alarm_.set(std::nullopt);
    child_ = 0;
    is_busy_ = false;
    if (!waiting_.empty()) {
        start();
    }
}

int run_closing_process(int fd) {
    static_cast<void>(fd);
    for (;;) {
        ::pause();
    }
}

}  // namespace stage
