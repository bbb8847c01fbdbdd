#include "stager/daemon/base/child_output.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace stage {
namespace {

/// The reads that empty a full pipe (64 KiB) when the process has ended.
constexpr int kLastReads = 32;

}  // namespace

Result<std::unique_ptr<ChildOutput>> ChildOutput::open(Loop& loop,
                                                       const Logger& log,
                                                       OutputOwner owner) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return Error::from_errno(Blame::node, "a pipe for a process' output");
    }
    auto output = std::make_unique<ChildOutput>(Token{}, loop, log, std::move(owner));
    output->pipe_.reset(ends[0]);
    output->child_end_.reset(ends[1]);
    // Only the reading end: a program's write blocks as it does on a terminal.
    if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        return Error::from_errno(Blame::node, "a pipe for a process' output");
    }
    const Status watched =
        loop.watch(ends[0], EPOLLIN, [self = output.get()](auto) { self->read_some(); });
    if (!watched) {
        return watched.error();
    }
    return output;
}

ChildOutput::ChildOutput(Token /*token*/, Loop& loop, const Logger& log, OutputOwner owner)
    : loop_{loop}, log_{log}, owner_{std::move(owner)} {
}

void ChildOutput::finish() {
    handed_over();
    for (int i = 0; i < kLastReads && read_some(); ++i) {
    }
    close();
}

bool ChildOutput::read_some() {
    std::array<char, 4096> room{};
    const ssize_t got = pipe_ ? ::read(pipe_.get(), room.data(), room.size()) : 0;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return errno == EINTR;
    }
    if (got <= 0) {
        close();
        return false;
    }
    take({room.data(), static_cast<std::size_t>(got)});
    return static_cast<bool>(pipe_);
}

void ChildOutput::take(std::string_view text) {
    while (!text.empty() && pipe_) {
        const std::size_t end = text.find('\n');
        const std::string_view part = text.substr(0, end);
        const std::size_t room = kOutputLineMax - line_.size();
        line_ += part.substr(0, room);
        is_cut_ = is_cut_ || part.size() > room;
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (end != std::string_view::npos) {
            log_line(line_);
        }
    }
}

void ChildOutput::log_line(std::string_view line) {
    std::string text{line};
    text += is_cut_ ? "..." : "";
    line_.clear();
    is_cut_ = false;
    if (text.empty()) {
        return;
    }
    log_.info("output of a job's process",
              {{"process", owner_.process},
               {"stage", owner_.stage},
               {"uid", owner_.uid},
               {"text", text}});
    if (++lines_ == kOutputLinesMax) {
        log_.info("a job's process writes too much; the rest of its output is discarded",
                  {{"process", owner_.process}, {"stage", owner_.stage}, {"uid", owner_.uid}});
        line_.clear();
        close();
    }
}

void ChildOutput::close() {
    if (!pipe_) {
        return;
    }
    loop_.forget(pipe_.get());
    pipe_.reset();
    if (!line_.empty()) {
        log_line(line_);  // The last line, which has no newline.
    }
}

}  // namespace stage
