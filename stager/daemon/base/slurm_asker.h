// Sends questions to Slurm without blocking the daemon's loop.
//
// Each question has a child process of its own (slurm_query.h), which may hang: the callback
// receives the answer, or an error when the time is over.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/slurm/slurm_query.h"

#include <functional>
#include <optional>

namespace stage {

class Children;

class SlurmAsker {
  public:
    using OnAnswer = std::function<void(const Result<SlurmAnswer>&)>;

    /// Both outlive the object. The spawner of `children` has the role kRoleSlurmQuery.
    SlurmAsker(Loop& loop, Children& children);
    SlurmAsker(const SlurmAsker&) = delete;
    SlurmAsker& operator=(const SlurmAsker&) = delete;
    ~SlurmAsker();

    /// One question at a time: another one cancels the first. The loop calls `on_answer` later.
    void ask(const SlurmQuestion& question,
             OnAnswer on_answer,
             Duration timeout = kSlurmAnswerMax);
    [[nodiscard]] bool is_busy() const { return query_.has_value(); }

  private:
    void look();
    void finish(const Result<SlurmAnswer>& answer);
    void drop();

    Loop& loop_;
    Children& children_;
    std::optional<SlurmQuery> query_;
    OnAnswer on_answer_;
    Alarm alarm_;
};

}  // namespace stage
