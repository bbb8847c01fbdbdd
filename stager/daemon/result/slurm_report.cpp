#include "stager/daemon/result/slurm_report.h"

#include "stager/daemon/base/basics.h"

#include <algorithm>
#include <utility>

namespace stage {

SlurmReport::SlurmReport(const Basics& basics,
                         AfterReport after_report,
                         StageKey key,
                         OnChange on_change)
    : basics_{basics},
      after_report_{std::move(after_report)},
      key_{key},
      on_change_{std::move(on_change)},
      notice_{basics.loop, basics.children, basics.log},
      unbegun_{basics.loop, basics.children, basics.config, basics.log, key, on_change_},
      asker_{basics.loop, basics.children} {
}

bool SlurmReport::report_fault(StageFault fault, std::function<void()> on_heard) {
    const Verdict& verdict = fault.verdict;
    const bool has_failed = is_failure(verdict.state);
    const bool requeues = has_failed && is_to_be_requeued(basics_.config, key_, verdict.blame);
    if (has_failed && !requeues) {
        unbegun_.await(std::max(basics_.loop.now(), fault.latest_prolog), verdict.sentence);
    }
    const bool comments = basics_.config.admin_comment;
    const auto report = [this,
                         why = comments ? verdict.sentence : std::string{},
                         requeues,
                         suspects = std::move(fault.suspects),
                         heard = std::move(on_heard)] {
        notice_.report(key_, why, requeues, suspects, heard);
    };
    if (requeues) {
        report();  // The plugin waits.
    } else if (comments) {
        report_later(report);
    }
    return requeues;
}

void SlurmReport::report_success(const ProgressOrder& order) {
    report_later([this, order] {
        asker_.ask(order, [this](const Result<SlurmAnswer>& /*answer*/) { on_change_(); });
    });
}

void SlurmReport::report_later(std::function<void()> report) {
    waits_ = true;
    after_report_([this, call = std::move(report)] {
        waits_ = false;
        call();
    });
}

bool SlurmReport::is_busy() const {
    return waits_ || notice_.is_busy() || unbegun_.is_awaited() || asker_.is_busy();
}

}  // namespace stage
