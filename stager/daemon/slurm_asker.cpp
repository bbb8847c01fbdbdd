#include "stager/daemon/slurm_asker.h"

#include <sys/epoll.h>

namespace stage {

SlurmAsker::SlurmAsker(Services& services)
    : services_{services}, alarm_{services.loop, [this] {
                                      if (query_) {
                                          query_->on_time(services_.loop.now());
                                          look();
                                      } else {
                                          finish(Error{Blame::node, "asking Slurm failed"});
                                      }
                                  }} {
}

SlurmAsker::~SlurmAsker() {
    drop();
}

void SlurmAsker::ask(const SlurmQuestion& question, OnAnswer on_answer) {
    drop();
    on_answer_ = std::move(on_answer);
    Loop& loop = services_.loop;
    auto query =
        SlurmQuery::start(services_.children.spawner(), kRoleSlurmQuery, question, loop.now());
    if (!query) {
        alarm_.set(loop.now());
        return;
    }
    query_.emplace(std::move(*query));
    alarm_.set(query_->deadline());
    static_cast<void>(loop.watch(query_->fd(), EPOLLIN, [this](auto) {
        query_->on_readable();
        look();
    }));
}

void SlurmAsker::look() {
    if (query_->answer()) {
        finish(*query_->answer());
    }
}

void SlurmAsker::finish(const Result<SlurmAnswer>& answer) {
    const Result<SlurmAnswer> kept = answer;
    const OnAnswer call = on_answer_;
    drop();
    call(kept);
}

void SlurmAsker::drop() {
    alarm_.set(std::nullopt);
    if (query_) {
        services_.loop.forget(query_->fd());
        query_.reset();
    }
}

}  // namespace stage
