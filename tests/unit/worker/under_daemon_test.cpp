// Tests that a worker does what SETUP says, reports the outcome, and leaves no files.
//
// The worker is a real process with a real socket at descriptor 3; the test is the daemon. A
// stage of one node needs no network, so that everything but the broadcast is here.
#include "stager/worker/staging/under_daemon.h"

#include "stager/content/content.h"
#include "stager/messages/worker_setup.h"
#include "stager/removal/cleanup_entry.h"
#include "stager/spec/spec_list.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <span>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::Scratch;

constexpr int kTimeoutMilliseconds = 20'000;

/// The daemon's view of one worker.
class WorkerProcess {
  public:
    WorkerProcess() {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            run(ends[1]);
        }
        ::close(ends[1]);
        socket_.reset(ends[0]);
    }
    ~WorkerProcess() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    void send(const ToWorker& message, int file = -1) const {
        REQUIRE(send_to_peer(socket_.get(), encode_to_worker(message), file).ok());
    }
    /// The next message of this kind; others are passed over. Nothing at the worker's end.
    template <class Message>
    std::optional<Message> next() const {
        for (;;) {
            pollfd one{socket_.get(), POLLIN, 0};
            REQUIRE(::poll(&one, 1, kTimeoutMilliseconds) == 1);
            const auto received = receive_from_peer(socket_.get(), kMaxFromWorker);
            REQUIRE(received);
            if (received->kind == PeerMessage::Kind::closed) {
                return std::nullopt;
            }
            const auto message = decode_from_worker(received->message);
            REQUIRE(message);
            asks += std::holds_alternative<WorkerAsk>(*message) ? 1U : 0U;
            if (const auto* message_left = std::get_if<WorkerLeft>(&*message)) {
                left.insert(
                    left.end(), message_left->entries.begin(), message_left->entries.end());
            }
            if (const auto* wanted = std::get_if<Message>(&*message)) {
                return *wanted;
            }
        }
    }
    void close() { socket_.reset(); }
    void signal(int number) const { REQUIRE(::kill(pid_, number) == 0); }
    int exit_code() {
        int status = 0;
        REQUIRE(::waitpid(std::exchange(pid_, -1), &status, 0) > 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    mutable std::size_t asks = 0;             ///< That next() has seen.
    mutable std::vector<std::string> left{};  ///< Cleanup entries that it has seen.

  private:
    [[noreturn]] static void run(int control) {
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = 0x0100007f;  // 127.0.0.1, network order
        static_cast<void>(
            ::bind(listener, reinterpret_cast<const sockaddr*>(&own), sizeof own));
        // To high numbers first, so that neither is overwritten before it was moved.
        const int high = ::fcntl(control, F_DUPFD, 10);
        const int high_listener = ::fcntl(listener, F_DUPFD, 10);
        ::dup2(high, kWorkerControlFd);
        ::dup2(high_listener, kWorkerEndpointsFd);
        for (int fd = kWorkerEndpointsFd + 1; fd < 256; ++fd) {
            ::close(fd);
        }
        const Logger quiet{[](LogLevel, std::string_view) {}, LogLevel::error};
        auto interrupts = Interrupts::make();
        ::_exit(interrupts ? run_under_daemon(quiet, *interrupts) : 99);
    }

    UniqueFd socket_;
    pid_t pid_ = -1;
};

WorkerSetup setup_for(const Scratch& stage, const std::vector<std::string>& options) {
    std::vector<StageSpec> specs;
    for (const std::string& option : options) {
        const auto spec = parse_spec(option);
        REQUIRE(spec);
        specs.push_back(*spec);
    }
    WorkerSetup setup;
    setup.endpoints = {{"tcp", 1, {}}};
    setup.transport = Transport::tcp;
    setup.key = {.job_id = 42, .step_id = kWholeJob, .restart = 0};
    setup.nodes = {"n0"};
    setup.group_address = "239.77.203.9";
    setup.group_port = 41'990;
    setup.specs = *serialize(specs);
    setup.work_dir = "/";
    setup.stage_dir = stage.path();
    setup.stage_timeout = std::chrono::milliseconds{kTimeoutMilliseconds};
    return setup;
}

}  // namespace

TEST_CASE("a worker uses cached files without reading, and offers what it staged") {
    // A file that was not changed a moment ago.
    const std::string source = "/usr/bin/true";
    const std::string bytes = content_of(source);
    ContentHasher hasher;
    for (std::size_t at = 0; at < bytes.size(); at += kBlockBytes) {
        const std::string block = bytes.substr(at, kBlockBytes);
        hasher.add(std::as_bytes(std::span{block}));
    }
    const Scratch stage;
    const Scratch cache;
    const std::string right = cache.write("right", bytes);
    const std::string wrong = cache.write("wrong", bytes.substr(1));
    const int which = GENERATE(0, 1, 2);
    const std::string entry = which == 0 ? right : which == 1 ? wrong : "";
    WorkerSetup setup = setup_for(stage, {source});
    setup.may_cache = true;
    WorkerProcess worker;
    worker.send(setup);
    const auto about_file = worker.next<WorkerAsk>();
    REQUIRE(about_file);
    CHECK(about_file->about.size() == 32);
    worker.send(
        WorkerCacheReply{.about = {std::byte{1}}, .content = {}});  // To no question of its.
    worker.send(WorkerCacheReply{about_file->about, bytes_of(hasher.content())});
    const auto about_bytes = worker.next<WorkerAsk>();
    REQUIRE(about_bytes);
    CHECK(about_bytes->about == bytes_of(hasher.content()));
    const UniqueFd file{entry.empty() ? -1 : ::open(entry.c_str(), O_RDONLY | O_CLOEXEC)};
    worker.send(WorkerCacheReply{about_bytes->about,
                                 file ? about_bytes->about : std::vector<std::byte>{}},
                file.get());
    if (entry != right && !entry.empty()) {
        const auto spoilt = worker.next<WorkerSpoilt>();
        REQUIRE(spoilt);
        CHECK(spoilt->content == about_bytes->about);
    }
    const auto progress = worker.next<WorkerProgress>();
    REQUIRE(progress);
    CHECK(progress->bytes_total == bytes.size());
    const auto outcome = worker.next<WorkerOutcome>();
    REQUIRE(outcome);
    CHECK(outcome->state == VerdictState::ok);
    const bool was_read = outcome->statistics.node.bytes_read != 0;
    CHECK(was_read == (entry != right));
    CHECK(content_of(stage.path("true")) == bytes);
    const auto kept = worker.next<WorkerKeep>();
    REQUIRE(kept);
    CHECK(Bytes{kept->stamp}.size() == about_file->about.size());
    CHECK(std::ranges::equal(kept->stamp, about_file->about));
    CHECK(kept->sum == hasher.content().sum);
    CHECK(kept->bytes == bytes.size());
}

TEST_CASE("a worker waits for the cache once, whatever the number of its files") {
    const Scratch stage;
    WorkerSetup setup = setup_for(stage, {"/usr/bin/true", "/usr/bin/false"});
    setup.may_cache = true;
    setup.stage_timeout = std::chrono::seconds{6};  // Of which half is for that.
    WorkerProcess worker;
    worker.send(setup);
    REQUIRE(worker.next<WorkerAsk>());  // Which is never answered.
    const auto outcome = worker.next<WorkerOutcome>();
    REQUIRE(outcome);
    CHECK(outcome->state == VerdictState::ok);
    CHECK(worker.asks == 1);
}

TEST_CASE("a stage of one node places its files and reports their paths") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    const std::string content = test::noise(kBlockBytes + 77);
    WorkerSetup setup = setup_for(
        stage,
        {from.write("a", content), from.write("b", "bbb") + ":" + outside.path("b") + ":temp"});
    setup.dest_roots = {outside.path()};
    WorkerProcess worker;
    worker.send(setup);
    const auto outcome = worker.next<WorkerOutcome>();
    REQUIRE(outcome);
    CHECK(outcome->sentence.empty());
    CHECK(outcome->state == VerdictState::ok);
    CHECK(outcome->paths == std::vector<std::string>{stage.path("a"), outside.path("b")});
    const auto released = worker.next<WorkerReleased>();
    REQUIRE(released);
    CHECK(released->statistics.bytes == content.size() + 3);
    CHECK(released->statistics.files == 2);
    CHECK(worker.exit_code() == 0);
    CHECK(content_of(stage.path("a")) == content);
    CHECK(content_of(outside.path("b")) == "bbb");
    CHECK(worker.left == std::vector<std::string>{use_entry(outside.path("b")),
                                                  outside.path(".b.stagecast.42.0"),
                                                  test::removal_there(outside.path("b"))});
}

TEST_CASE("a stage of one node reports its bytes before the outcome") {
    const Scratch from;
    const Scratch stage;
    WorkerProcess worker;
    worker.send(setup_for(stage, {from.write("a", test::noise(kBlockBytes + 77))}));
    const auto first = worker.next<WorkerProgress>();
    REQUIRE(first);
    CHECK(first->phase == WorkerPhase::transfer);
    CHECK(first->bytes == 0);
    CHECK(first->bytes_total == kBlockBytes + 77);
    auto last = worker.next<WorkerProgress>();
    while (last && last->phase != WorkerPhase::serve) {
        last = worker.next<WorkerProgress>();
    }
    REQUIRE(last);
    CHECK(last->bytes == kBlockBytes + 77);
    CHECK(last->bytes_total == kBlockBytes + 77);
    CHECK(worker.next<WorkerOutcome>());
}

TEST_CASE("a stage of one node can end during a copy, and leaves nothing") {
    const Scratch from;
    const Scratch stage;
    WorkerSetup setup =
        setup_for(stage, {from.write("a", test::noise(std::size_t{16} * kBlockBytes))});
    setup.stage_timeout = std::chrono::milliseconds{1};
    WorkerProcess worker;
    worker.send(setup);
    const auto outcome = worker.next<WorkerOutcome>();
    REQUIRE(outcome);
    CHECK(outcome->state == VerdictState::failed);
    CHECK_THAT(outcome->sentence, Contains("not done within 0.001 s"));
    CHECK(worker.next<WorkerReleased>());
    CHECK(worker.exit_code() == 0);
    CHECK(stage.names().empty());
}

TEST_CASE("a step's files lie in the step's directory") {
    const Scratch from;
    const Scratch stage;
    WorkerSetup setup = setup_for(stage, {from.write("a", "aaa")});
    setup.dest_subdir = "step.3";
    WorkerProcess worker;
    worker.send(setup);
    const auto outcome = worker.next<WorkerOutcome>();
    REQUIRE(outcome);
    CHECK(outcome->sentence.empty());
    CHECK(content_of(stage.path("step.3/a")) == "aaa");
    CHECK(content_of(stage.path("step.3/.stagecast/files")) == stage.path("step.3/a") + '\0');
}

TEST_CASE("a failure is reported with file, cause and remedy, and leaves nothing") {
    const Scratch from;
    const Scratch stage;
    const std::string good = from.write("good", "x");
    const auto sentence_of = [&](const WorkerSetup& setup) {
        WorkerProcess worker;
        worker.send(setup);
        const auto outcome = worker.next<WorkerOutcome>();
        REQUIRE(outcome);
        CHECK(outcome->state == VerdictState::failed);
        CHECK(worker.exit_code() == 1);
        return outcome->sentence;
    };
    CHECK_THAT(sentence_of(setup_for(stage, {good, from.path("absent")})),
               Contains(from.path("absent") +
                        ": No such file or directory; check the path; the job's first node"));
    CHECK_THAT(sentence_of(setup_for(stage, {good + ":/etc/x"})),
               Contains("not allowed there"));
    WorkerSetup forged = setup_for(stage, {good});
    forged.specs = "garbage";
    CHECK_FALSE(sentence_of(forged).empty());
    WorkerSetup large = setup_for(stage, {from.write("large", test::noise(1000))});
    large.max_bytes = 999;
    CHECK_THAT(sentence_of(large), Contains("MaxBytes"));
    CHECK(stage.names().empty());
}

TEST_CASE("an optional file that is missing makes the outcome partial") {
    const Scratch from;
    const Scratch stage;
    WorkerProcess worker;
    worker.send(setup_for(stage, {from.write("a", "aaa"), from.path("absent") + "::optional"}));
    const auto outcome = worker.next<WorkerOutcome>();
    REQUIRE(outcome);
    CHECK(outcome->state == VerdictState::partial);
    CHECK_THAT(outcome->sentence, Contains("absent: No such file"));
    CHECK(outcome->paths == std::vector<std::string>{stage.path("a"), ""});
    CHECK(worker.exit_code() == 0);
}

TEST_CASE("a worker that waits for its peers ends by ABORT, a signal or its daemon's end") {
    const Scratch from;
    const Scratch stage;
    WorkerSetup setup = setup_for(stage, {from.write("a", "aaa")});
    setup.nodes = {"n0", "n1"};
    setup.cards_follow = true;
    WorkerProcess worker;
    worker.send(setup);
    REQUIRE(worker.next<WorkerCard>());
    SECTION("ABORT") {
        worker.send(WorkerAbort{Blame::user, "the job was cancelled"});
        const auto outcome = worker.next<WorkerOutcome>();
        REQUIRE(outcome);
        CHECK(outcome->state == VerdictState::failed);
        CHECK(outcome->sentence == "the job was cancelled");
    }
    SECTION("the daemon ended") {
        worker.close();
    }
    SECTION("a signal") {
        worker.signal(SIGTERM);
        const auto outcome = worker.next<WorkerOutcome>();
        REQUIRE(outcome);
        CHECK_THAT(outcome->sentence, Contains("SIGTERM"));
    }
    SECTION("a malformed message") {
        worker.send(WorkerCards{{std::byte{1}}});
        const auto outcome = worker.next<WorkerOutcome>();
        REQUIRE(outcome);
        CHECK(outcome->state == VerdictState::failed);
    }
    CHECK(worker.exit_code() == 1);
    CHECK(stage.names().empty());
}

TEST_CASE("a worker without a setup ends when its daemon does") {
    WorkerProcess worker;
    worker.close();
    CHECK(worker.exit_code() == 1);
}

TEST_CASE("a stage that takes too long ends itself") {
    const Scratch from;
    const Scratch stage;
    WorkerSetup setup = setup_for(stage, {from.write("a", "aaa")});
    setup.nodes = {"n0", "n1"};
    setup.cards_follow = true;
    setup.stage_timeout = std::chrono::milliseconds{50};
    WorkerProcess worker;
    worker.send(setup);
    const auto outcome = worker.next<WorkerOutcome>();
    REQUIRE(outcome);
    CHECK_THAT(outcome->sentence, Contains("not done within 0.05 s"));
}

}  // namespace stage
