// How does a question to Slurm live in the daemon's loop?
//
// One child process a question (slurm_query.h), which may hang as long as it likes: the answer
// comes when it comes, or a sentence when its time is over.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"
#include "stager/slurm/slurm_query.h"

#include <functional>
#include <optional>

namespace stage {

class SlurmAsker {
  public:
    using OnAnswer = std::function<void(const Result<SlurmAnswer>&)>;

    /// `services` outlives it.
    explicit SlurmAsker(Services& services);
    SlurmAsker(const SlurmAsker&) = delete;
    SlurmAsker& operator=(const SlurmAsker&) = delete;
    ~SlurmAsker();

    /// One question at a time: another one drops the first. `on_answer` comes later, from the
    /// loop.
    void ask(const SlurmQuestion& question,
             OnAnswer on_answer,
             Duration patience = kSlurmAnswerMax);
    [[nodiscard]] bool is_busy() const { return query_.has_value(); }

  private:
    void look();
    void finish(const Result<SlurmAnswer>& answer);
    void drop();

    Services& services_;
    std::optional<SlurmQuery> query_;
    OnAnswer on_answer_;
    Alarm alarm_;
};

}  // namespace stage
