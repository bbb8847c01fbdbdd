// Encodes questions to Slurm and their answers, between the daemon and its child process.
#include "stager/slurm/slurm_query.h"
#include "transport/base/fields.h"

namespace stage {
namespace {

constexpr std::size_t kQuestionMax = 1U << 20U;
constexpr std::size_t kNameMax = 255;
constexpr std::size_t kSentenceMax = 4096;

/// In the order of SlurmQuestion.
constexpr TypeNumbers<SlurmQuestion> kQuestions{1, 2, 3, 4, 5, 6, 7, 8};

void put_step(ByteWriter& out, const std::optional<std::uint32_t>& step) {
    out.u8(step ? 1 : 0).u32(step.value_or(0));
}

std::optional<std::uint32_t> take_step(ByteReader& in) {
    const bool is_step = in.u8() != 0;
    const std::uint32_t id = in.u32();
    return is_step ? std::optional{id} : std::nullopt;
}

struct FailedAnswer {
    Blame blame = Blame::internal;
    std::string sentence;
};
using Answer =
    std::variant<FailedAnswer, std::vector<SlurmNode>, SlurmJob, std::vector<SlurmJob>>;
constexpr TypeNumbers<Answer> kAnswers{0, 1, 2, 3};

}  // namespace

void fields(auto& on, Like<ExpandQuestion> auto& question) {
    on.any_text(question.node_list, kQuestionMax);
}

void fields(auto& on, Like<ResolveQuestion> auto& question) {
    on.any_text(question.node_list, kQuestionMax).flag(question.may_miss);
}

void fields(auto& on, Like<JobStateQuestion> auto& question) {
    on.number(question.job_id);
}

void fields(auto& on, Like<CancelOrder> auto& order) {
    on.number(order.job_id);
    on.with(order.step_id, put_step, take_step).number(order.restart);
    on.any_cut(order.sentence, kSentenceMax);
    on.flag(order.comments).flag(order.only_in_prolog);
}

void fields(auto& /*on*/, Like<LeaseServersQuestion> auto& /*question*/) {
}

void fields(auto& on, Like<JobsQuestion> auto& question) {
    on.list(question.job_ids, kJobsMax, [](auto& each, auto& id) { each.number(id); });
}

void fields(auto& on, Like<FailureOrder> auto& order) {
    on.number(order.job_id).number(order.restart).flag(order.requeue);
    on.list(order.faulty, kFaultyMax, [](auto& each, auto& node) {
        each.any_text(node, kNameMax);
    });
    on.any_cut(order.sentence, kSentenceMax);
}

void fields(auto& on, Like<ProgressOrder> auto& order) {
    on.number(order.job_id).number(order.restart).flag(order.comments).flag(order.is_last);
    on.any_cut(order.sentence, kSentenceMax);
}

void fields(auto& on, Like<SlurmNode> auto& node) {
    on.any_text(node.name, kNameMax).any_text(node.address, kNameMax);
}

void fields(auto& on, Like<SlurmJob> auto& job) {
    on.choice(job.state, SlurmJobState::completing).number(job.restart_count);
    on.any_text(job.word, kNameMax).any_text(job.node_list, kQuestionMax);
    on.number(job.array_job_id).number(job.array_task_id).number(job.uid).number(job.gid);
}

void fields(auto& on, Like<FailedAnswer> auto& failed) {
    on.choice(failed.blame, Blame::internal).any_cut(failed.sentence, kSentenceMax);
}

void fields(auto& on, Like<std::vector<SlurmNode>> auto& nodes) {
    on.list(nodes, kNodesMax, [](auto& each, auto& node) { fields(each, node); });
}

void fields(auto& on, Like<std::vector<SlurmJob>> auto& jobs) {
    on.list(jobs, kJobsMax, [](auto& each, auto& job) { fields(each, job); });
}

std::vector<std::byte> encode_question(const SlurmQuestion& question) {
    ByteWriter out;
    put_message(out, kQuestions, question);
    return out.take();
}

Result<SlurmQuestion> decode_question(Bytes message) {
    ByteReader reader{message};
    auto question = take_message<SlurmQuestion>(reader, kQuestions);
    if (!reader.finished()) {
        return Error{Blame::internal, "malformed question to Slurm"};
    }
    return *std::move(question);
}

std::vector<std::byte> encode_slurm_answer(const Result<SlurmAnswer>& answer) {
    ByteWriter out;
    put_message(out,
                kAnswers,
                answer ? std::visit([](const auto& one) { return Answer{one}; }, *answer)
                       : FailedAnswer{answer.error().blame(), answer.error().sentence()});
    return out.take();
}

Result<SlurmAnswer> decode_slurm_answer(Bytes message) {
    ByteReader reader{message};
    auto answer = take_message<Answer>(reader, kAnswers);
    if (!reader.finished()) {
        return Error{Blame::internal, "malformed answer of the process that asks Slurm"};
    }
    return std::visit(
        [](auto& one) -> Result<SlurmAnswer> {
            if constexpr (std::is_same_v<std::remove_reference_t<decltype(one)>,
                                         FailedAnswer>) {
                return Error{one.blame, std::move(one.sentence)};
            } else {
                return SlurmAnswer{std::move(one)};
            }
        },
        *answer);
}

}  // namespace stage
