#include "stager/daemon/run/worker_process.h"

#include "stager/daemon/base/connected_child.h"
#include "stager/daemon/base/counters.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>

#include <algorithm>
#include <csignal>

namespace stage {
namespace {

/// From closing the worker's socket until SIGKILL.
constexpr Duration kLeaveMax = std::chrono::seconds{2};
/// Messages that are taken per call: a worker that sends without end leaves the loop time for
/// other work.
constexpr int kMessagesAtOnce = 64;
/// Bytes of messages that are taken per call, because messages may be long.
constexpr std::size_t kBytesAtOnce = 4U << 20U;
/// Messages that a worker may send beside its questions to the cache: PROGRESS comes twice a
/// second. A worker that sends more is not the program that was started, and is killed.
constexpr int kMessagesMax = 20'000;
constexpr int kMessagesASecond = 100;
/// More messages than its socket holds.
constexpr int kLastWordsMax = 4096;

std::string why_ended(const SpawnEvent& event) {
    if (event.kind == SpawnEvent::Kind::failed) {
        return "it could not start: " + event.sentence;
    }
    if (WIFEXITED(event.status) && WEXITSTATUS(event.status) == EX_OSERR) {
        return "it could not start a thread, or had no memory left; does the user have too "
               "many processes?";
    }
    return event.status_text();
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const Basics& basics,
                                                            const WorkerOrder& order,
                                                            Events events) {
    if (order.closer->is_full()) {
        return Error{
            Blame::user,
            "stagecastd can't close files that processes of your earlier jobs have sent"}
            .remedy("unmount the FUSE file system on which they lie, or end its server");
    }
    auto worker =
        std::make_unique<WorkerProcess>(Token{}, basics, order.closer, std::move(events));
    const OutputOwner owner{.process = "stagecast-worker",
                            .stage = order.stage,
                            .uid = order.program.user ? order.program.user->uid : 0};
    auto child = start_connected(
        basics.loop,
        basics.children,
        basics.log,
        {.program = order.program, .owner = owner, .more = order.sockets},
        [self = worker.get()](const SpawnEvent& event) { self->on_event(event); });
    if (!child) {
        return child.error();
    }
    worker->socket_ = std::move(child->socket);
    worker->output_ = std::move(child->output);
    worker->id_ = child->id;
    const Status watched = basics.loop.watch(
        worker->socket_.get(), EPOLLIN, [self = worker.get()](auto) { self->on_readable(); });
    if (!watched) {
        return watched.error();
    }
    return worker;
}

WorkerProcess::WorkerProcess(Token /*token*/,
                             const Basics& basics,
                             CloserPtr closer,
                             Events events)
    : loop_{basics.loop},
      children_{basics.children},
      events_{std::move(events)},
      closer_{std::move(closer)},
      messages_left_{kMessagesMax},
      messages_since_{basics.loop.now()},
      kill_alarm_{basics.loop, [this, &counters = basics.counters] {
                      ++counters.workers_killed;
                      kill();
                  }} {
}

WorkerProcess::~WorkerProcess() {
    hang_up();
    if (ended_ || id_ == 0) {
        return;
    }
    children_.kill(pid_, SIGKILL);
    children_.on_end(id_, [&children = children_](const SpawnEvent& event) {
        if (event.kind == SpawnEvent::Kind::started) {
            children.kill(event.pid, SIGKILL);
        }
    });
}

void WorkerProcess::send(const ToWorker& message, int file) {
    if (!socket_) {
        return;
    }
    const Status sent = send_to_peer(socket_.get(), encode_to_worker(message), file);
    if (!sent && sent.error().cause() != EPIPE) {  // EPIPE: the spawner reports its end.
        kill();
    }
}

void WorkerProcess::kill_after(Duration grace) {
    kill_alarm_.set(loop_.now() + grace);
}

void WorkerProcess::kill() {
    doomed_ = true;
    children_.kill(pid_, SIGKILL);
}

void WorkerProcess::on_event(const SpawnEvent& event) {
    if (event.kind == SpawnEvent::Kind::started) {
        pid_ = event.pid;
        if (doomed_) {
            kill();
        }
        const auto call = events_.on_started;
        call();
        return;
    }
    ended_ = true;
    output_->finish();
    const std::weak_ptr<bool> alive{alive_};
    take_messages(kLastWordsMax);
    if (!alive.expired()) {
        kill_alarm_.set(std::nullopt);
    }
    if (!alive.expired()) {
        const auto call = events_.on_ended;
        call(why_ended(event));
    }
}

bool WorkerProcess::may_bring_file(const FromWorker& message) {
    const bool is_file = std::holds_alternative<WorkerKeep>(message) ||
                         std::holds_alternative<WorkerBegun>(message);
    return is_file && ++files_ <= kMaxKept + kMaxTreesKept + kMaxBegun && !closer_->is_full();
}

/// Allows one outcome, and messages at a limited rate: a faster worker would take all of the
/// daemon's time.
bool WorkerProcess::may_say(const FromWorker& message) {
    if (std::holds_alternative<WorkerOutcome>(message) && ++outcomes_ > 1) {
        return false;
    }
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(loop_.now() - messages_since_);
    if (seconds.count() > 0) {
        messages_since_ += seconds;
        messages_left_ = static_cast<int>(std::min<std::int64_t>(
            kMessagesMax, messages_left_ + seconds.count() * kMessagesASecond));
    }
    return --messages_left_ >= 0;
}

/// Closes the socket, and with it unread messages and the user's descriptors in them.
void WorkerProcess::hang_up() {
    if (socket_) {
        loop_.forget(socket_.get());
        // The worker sees it at once, even if closing the user's descriptors hangs.
        static_cast<void>(::shutdown(socket_.get(), SHUT_RDWR));
        closer_->close(std::move(socket_));
    }
}

void WorkerProcess::on_readable() {
    take_messages(kMessagesAtOnce);
}

void WorkerProcess::take_messages(int most) {
    const std::weak_ptr<bool> alive{alive_};
    std::size_t bytes = 0;
    for (int taken = 0;
         taken < most && (ended_ || bytes < kBytesAtOnce) && !alive.expired() && socket_;
         ++taken) {
        auto received = receive_from_peer(socket_.get(), kMaxFromWorker, closer_);
        if (received && received->kind == PeerMessage::Kind::nothing_yet) {
            return;
        }
        const bool is_closed = received && received->kind == PeerMessage::Kind::closed;
        auto message = received && !is_closed ? decode_from_worker(received->message)
                                              : Result<FromWorker>{Error{Blame::internal, ""}};
        const bool is_sound =
            message && (!received->file || may_bring_file(*message)) && may_say(*message);
        if (!is_sound) {
            hang_up();
            kill_after(is_closed ? kLeaveMax : Duration{0});
            return;
        }
        bytes += received->message.size();
        const auto call = events_.on_message;
        call(std::move(*message), std::move(received->file));
    }
}

}  // namespace stage
