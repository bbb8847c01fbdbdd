// Encodes questions to Slurm and their answers, between the daemon and its child process.
#include "stager/slurm/slurm_query.h"
#include "transport/base/codec.h"

namespace stage {
namespace {

constexpr std::size_t kQuestionMax = 1U << 20U;
constexpr std::size_t kNameMax = 255;
constexpr std::size_t kSentenceMax = 4096;

enum class Ask : std::uint8_t {
    expand = 1,
    resolve = 2,
    job = 3,
    cancel = 4,
    keepers = 5,
    jobs = 6,
    failure = 7
};
enum class AnswerKind : std::uint8_t { error = 0, nodes = 1, job = 2, jobs = 3 };

void write_nodes(ByteWriter& out, const std::vector<SlurmNode>& nodes) {
    out.u8(static_cast<std::uint8_t>(AnswerKind::nodes))
        .u32(static_cast<std::uint32_t>(nodes.size()));
    for (const SlurmNode& node : nodes) {
        out.text(node.name).text(node.address);
    }
}

std::vector<SlurmNode> read_nodes(ByteReader& reader) {
    std::vector<SlurmNode> nodes;
    const std::size_t count = reader.u32();
    if (count > kNodesMax) {
        reader.fail();
    }
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        std::string name = reader.text(kNameMax);
        std::string address = reader.text(kNameMax);
        nodes.push_back({.name = std::move(name), .address = std::move(address)});
    }
    return nodes;
}

ResolveQuestion read_resolve(ByteReader& reader) {
    ResolveQuestion question{reader.text(kQuestionMax)};
    question.may_miss = reader.u8() != 0;
    return question;
}

CancelOrder read_order(ByteReader& reader) {
    CancelOrder order;
    order.job_id = reader.u32();
    const bool is_step = reader.u8() != 0;
    const std::uint32_t step_id = reader.u32();
    order.step_id = is_step ? std::optional{step_id} : std::nullopt;
    order.restart = reader.u32();
    order.sentence = reader.text(kSentenceMax);
    order.only_in_prolog = reader.u8() != 0;
    return order;
}

FailureOrder read_failure(ByteReader& reader) {
    FailureOrder order;
    order.job_id = reader.u32();
    order.restart = reader.u32();
    order.requeue = reader.u8() != 0;
    order.sentence = reader.text(kSentenceMax);
    return order;
}

JobsQuestion read_job_ids(ByteReader& reader) {
    JobsQuestion question;
    const std::size_t count = reader.u32();
    if (count > kJobsMax) {
        reader.fail();
    }
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        question.job_ids.push_back(reader.u32());
    }
    return question;
}

void write_job(ByteWriter& out, const SlurmJob& job) {
    out.u8(static_cast<std::uint8_t>(job.state)).u32(job.restart_count);
    out.text(job.word).text(job.node_list).u32(job.array_job_id).u32(job.array_task_id);
    out.u32(job.uid).u32(job.gid);
}

SlurmJob read_job(ByteReader& reader) {
    SlurmJob job;
    const std::uint8_t state = reader.u8();
    job.state = static_cast<SlurmJobState>(state);
    job.restart_count = reader.u32();
    job.word = reader.text(kNameMax);
    job.node_list = reader.text(kQuestionMax);
    job.array_job_id = reader.u32();
    job.array_task_id = reader.u32();
    job.uid = reader.u32();
    job.gid = reader.u32();
    if (state > static_cast<std::uint8_t>(SlurmJobState::completing)) {
        reader.fail();
    }
    return job;
}

std::vector<SlurmJob> read_jobs(ByteReader& reader) {
    std::vector<SlurmJob> jobs;
    const std::size_t count = reader.u32();
    if (count > kJobsMax) {
        reader.fail();
    }
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        jobs.push_back(read_job(reader));
    }
    return jobs;
}

}  // namespace

std::vector<std::byte> encode_question(const SlurmQuestion& question) {
    ByteWriter out;
    if (const auto* ask = std::get_if<ExpandQuestion>(&question)) {
        out.u8(static_cast<std::uint8_t>(Ask::expand)).text(ask->node_list);
    } else if (const auto* resolve_ask = std::get_if<ResolveQuestion>(&question)) {
        out.u8(static_cast<std::uint8_t>(Ask::resolve)).text(resolve_ask->node_list);
        out.u8(resolve_ask->may_miss ? 1 : 0);
    } else if (const auto* order = std::get_if<CancelOrder>(&question)) {
        out.u8(static_cast<std::uint8_t>(Ask::cancel)).u32(order->job_id);
        out.u8(order->step_id ? 1 : 0).u32(order->step_id.value_or(0)).u32(order->restart);
        out.text(std::string_view{order->sentence}.substr(0, kSentenceMax));
        out.u8(order->only_in_prolog ? 1 : 0);
    } else if (std::holds_alternative<KeepersQuestion>(question)) {
        out.u8(static_cast<std::uint8_t>(Ask::keepers));
    } else if (const auto* jobs = std::get_if<JobsQuestion>(&question)) {
        out.u8(static_cast<std::uint8_t>(Ask::jobs));
        out.u32(static_cast<std::uint32_t>(jobs->job_ids.size()));
        for (const std::uint32_t job_id : jobs->job_ids) {
            out.u32(job_id);
        }
    } else if (const auto* failure = std::get_if<FailureOrder>(&question)) {
        out.u8(static_cast<std::uint8_t>(Ask::failure)).u32(failure->job_id);
        out.u32(failure->restart).u8(failure->requeue ? 1 : 0);
        out.text(std::string_view{failure->sentence}.substr(0, kSentenceMax));
    } else {
        out.u8(static_cast<std::uint8_t>(Ask::job));
        out.u32(std::get<JobStateQuestion>(question).job_id);
    }
    return out.take();
}

Result<SlurmQuestion> decode_question(Bytes message) {
    ByteReader reader{message};
    SlurmQuestion question;
    switch (static_cast<Ask>(reader.u8())) {
        case Ask::expand:
            question = ExpandQuestion{reader.text(kQuestionMax)};
            break;
        case Ask::resolve:
            question = read_resolve(reader);
            break;
        case Ask::job:
            question = JobStateQuestion{reader.u32()};
            break;
        case Ask::cancel:
            question = read_order(reader);
            break;
        case Ask::keepers:
            question = KeepersQuestion{};
            break;
        case Ask::jobs:
            question = read_job_ids(reader);
            break;
        case Ask::failure:
            question = read_failure(reader);
            break;
        default:
            reader.fail();
            break;
    }
    if (!reader.finished()) {
        return Error{Blame::internal, "malformed question to Slurm"};
    }
    return question;
}

std::vector<std::byte> encode_slurm_answer(const Result<SlurmAnswer>& answer) {
    ByteWriter out;
    if (!answer) {
        out.u8(static_cast<std::uint8_t>(AnswerKind::error));
        out.u8(static_cast<std::uint8_t>(answer.error().blame()));
        out.text(std::string_view{answer.error().sentence()}.substr(0, kSentenceMax));
    } else if (const auto* nodes = std::get_if<std::vector<SlurmNode>>(&*answer)) {
        write_nodes(out, *nodes);
    } else if (const auto* job = std::get_if<SlurmJob>(&*answer)) {
        out.u8(static_cast<std::uint8_t>(AnswerKind::job));
        write_job(out, *job);
    } else {
        const auto& jobs = std::get<std::vector<SlurmJob>>(*answer);
        out.u8(static_cast<std::uint8_t>(AnswerKind::jobs));
        out.u32(static_cast<std::uint32_t>(jobs.size()));
        for (const SlurmJob& one : jobs) {
            write_job(out, one);
        }
    }
    return out.take();
}

Result<SlurmAnswer> decode_slurm_answer(Bytes message) {
    const Error nonsense{Blame::internal, "malformed answer of the process that asks Slurm"};
    ByteReader reader{message};
    SlurmAnswer answer;
    switch (static_cast<AnswerKind>(reader.u8())) {
        case AnswerKind::error: {
            const std::uint8_t blame = reader.u8();
            std::string sentence = reader.text(kSentenceMax);
            const bool good =
                reader.finished() && blame <= static_cast<std::uint8_t>(Blame::internal);
            return good ? Error{static_cast<Blame>(blame), std::move(sentence)} : nonsense;
        }
        case AnswerKind::nodes:
            answer = read_nodes(reader);
            break;
        case AnswerKind::job:
            answer = read_job(reader);
            break;
        case AnswerKind::jobs:
            answer = read_jobs(reader);
            break;
        default:
            reader.fail();
            break;
    }
    if (!reader.finished()) {
        return nonsense;
    }
    return answer;
}

}  // namespace stage
