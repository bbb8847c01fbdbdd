#include "stager/daemon/run/pmix_host.h"

#include "stager/daemon/base/connected_child.h"
#include "stager/daemon/run/host_directories.h"

#include <sys/epoll.h>

#include <csignal>

namespace stage {
namespace {

constexpr const char* kProgramName = "stagecast-pmix-host";

}  // namespace

Result<std::unique_ptr<PmixHost>> PmixHost::start(Loop& loop,
                                                  Children& children,
                                                  const Logger& log,
                                                  const HostPlace& place) {
    auto name = place.directories.make();
    if (!name) {
        return name.error();
    }
    auto host = std::make_unique<PmixHost>(
        Token{}, loop, children, place.directories, *std::move(name));
    const ProgramRequest program{
        .path = place.program,
        .arguments = {kProgramName,
                      "--tmpdir=" + place.directories.path_of(host->name_),
                      "--psec=munge",
                      "--spare=" + std::to_string(place.spare.uid) + ':' +
                          std::to_string(place.spare.gid)},
        .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LC_ALL=C"},
        .user = std::nullopt,
        .umask = 077,
        .oom_score_adj = 500,
        .group = {}};
    auto child = start_connected(
        loop,
        children,
        log,
        {.program = program, .owner = {.process = kProgramName, .stage = {}, .uid = 0}},
        [self = host.get()](const auto& event) { self->on_event(event); });
    if (!child) {
        return child.error();
    }
    host->socket_ = std::move(child->socket);
    host->output_ = std::move(child->output);
    host->id_ = child->id;
    const Status watched = loop.watch(
        host->socket_.get(), EPOLLIN, [self = host.get()](auto) { self->on_readable(); });
    if (!watched) {
        return watched.error();
    }
    return host;
}

PmixHost::PmixHost(Token /*token*/,
                   Loop& loop,
                   Children& children,
                   HostDirectories& directories,
                   std::string name)
    : loop_{loop}, children_{children}, directories_{directories}, name_{std::move(name)} {
}

PmixHost::~PmixHost() {
    if (socket_) {
        loop_.forget(socket_.get());
    }
    directories_.remove_empty(name_);
    if (ended_ || id_ == 0) {
        directories_.remove(name_);
        return;
    }
    // Its directory can be removed only after its end; the event outlives this object.
    children_.kill(pid_, SIGKILL);
    children_.on_end(id_,
                     [&children = children_, &directories = directories_, name = name_](
                         const SpawnEvent& event) {
                         if (event.kind == SpawnEvent::Kind::started) {
                             children.kill(event.pid, SIGKILL);
                         } else {
                             directories.remove(name);
                         }
                     });
}

void PmixHost::own(OnMessage on_message, OnLost on_lost) {
    on_message_ = std::move(on_message);
    on_lost_ = std::move(on_lost);
}

void PmixHost::send(const ToHost& message) {
    if (const auto* job = std::get_if<HostJob>(&message)) {
        if (const Status given = directories_.give(name_, job->uid, job->gid); !given) {
            lose(given.error().sentence());
            return;
        }
        output_->belongs_to(
            {.process = kProgramName, .stage = job->name_space, .uid = job->uid});
    }
    const Status sent = send_host_message(socket_.get(), encode_to_host(message));
    if (!sent) {
        lose(sent.error().sentence());
    }
}

void PmixHost::on_readable() {
    auto received = receive_from_host(socket_.get());
    if (!received) {
        lose(received.error().sentence());
        return;
    }
    if (received->kind == HostReceived::Kind::closed) {
        loop_.forget(socket_.get());  // The spawner reports the host's end.
        return;
    }
    if (received->kind == HostReceived::Kind::nothing_yet) {
        return;
    }
    auto message = decode_from_host(received->message);
    if (!message) {
        lose(message.error().sentence());
    } else if (on_message_) {
        const OnMessage call = on_message_;
        call(std::move(*message));
    }
}

void PmixHost::on_event(const SpawnEvent& event) {
    if (event.kind == SpawnEvent::Kind::started) {
        pid_ = event.pid;
        return;
    }
    ended_ = true;
    output_->finish();
    lose(event.kind == SpawnEvent::Kind::failed ? event.sentence : event.status_text());
}

/// Calls on_lost later: a caller of send() must not find this object destroyed.
void PmixHost::lose(const std::string& why) {
    if (lost_) {
        return;
    }
    lost_ = true;
    loop_.forget(socket_.get());
    loop_.defer([call = on_lost_, why, alive = std::weak_ptr<bool>{alive_}] {
        if (call && !alive.expired()) {
            call(why);
        }
    });
}

}  // namespace stage
