// Tests that the daemon gets an answer from Slurm, or an error, in whatever state Slurm is.
//
// Asks a real slurmctld with a munged of its own, started for the test. Lives beside the
// spawner's tests because a query is a role of it.
#include "stager/slurm/slurm_query.h"

#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>
#include <slurm/slurm.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>

using namespace stage;

namespace {

constexpr Instant kNow{};

bool can_run() {
    if (!is_root()) {
        return false;
    }
    for (const char* const program : {"/usr/sbin/munged", "/usr/sbin/slurmctld"}) {
        if (::access(program, X_OK) != 0) {
            WARN("skipped: no " << program);
            return false;
        }
    }
    return true;
}

int run(const std::string& command) {
    return std::system(command.c_str());  // NOLINT(cert-env33-c): a test's own words
}

/// A port on which no process listens just now.
std::uint16_t free_port() {
    const UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(fd.get(), any, length) == 0);
    REQUIRE(::getsockname(fd.get(), any, &length) == 0);
    return ntohs(address.sin_port);
}

/// slurmctld and munged in a directory of their own. End with the test.
class Controller {
  public:
    Controller() {
        REQUIRE(::mkdtemp(dir_.data()) != nullptr);
        REQUIRE(run("head -c 128 /dev/urandom >" + dir_ + "/key && chmod 600 " + dir_ +
                    "/key && munged --force --num-threads=2 --key-file=" + dir_ +
                    "/key --socket=" + dir_ + "/munge --pid-file=" + dir_ +
                    "/munged.pid --log-file=" + dir_ + "/munged.log --seed-file=" + dir_ +
                    "/seed") == 0);
        // A connection of another process may take the port before slurmctld has it.
        bool is_there = false;
        for (int tries = 0; tries < 3 && !is_there; ++tries) {
            write_conf(free_port());
            is_there = begin();
        }
        REQUIRE(is_there);
    }
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;
    ~Controller() {
        kill_by("slurmctld.pid", SIGKILL);
        kill_by("munged.pid", SIGKILL);
        static_cast<void>(run("rm -rf " + dir_));
    }
    [[nodiscard]] std::string conf() const { return dir_ + "/slurm.conf"; }
    [[nodiscard]] std::string with_conf() const { return "SLURM_CONF=" + conf() + " "; }
    void stop() const { kill_by("slurmctld.pid", SIGSTOP); }

  private:
    void write_conf(std::uint16_t port) {
        std::ofstream{conf()} << "ClusterName=unit\nSlurmctldHost=localhost(127.0.0.1)\n"
                              << "SlurmctldPort=" << port << "\nSlurmUser=root\n"
                              << "AuthType=auth/munge\nAuthInfo=socket=" << dir_ << "/munge\n"
                              << "StateSaveLocation=" << dir_ << "\nSlurmctldPidFile=" << dir_
                              << "/slurmctld.pid\nSlurmctldLogFile=" << dir_
                              << "/slurmctld.log\n"
                              << "SlurmdSpoolDir=" << dir_ << "/spool\n"
                              << "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
                              << "JobAcctGatherType=jobacct_gather/none\n"
                              << "AccountingStorageType=accounting_storage/none\n"
                              << "SelectType=select/cons_tres\nMessageTimeout=3\n"
                              << "NodeName=n[0-3] NodeAddr=10.77.1.[1-4] CPUs=1 State=UNKNOWN\n"
                              << "NodeName=named NodeAddr=localhost CPUs=1 State=UNKNOWN\n"
                              << "PartitionName=main Nodes=ALL Default=YES State=UP\n";
    }

    bool begin() {
        REQUIRE(run("slurmctld -c -f " + conf() + " 2>/dev/null") == 0);
        // scontrol waits for an answer, or is refused at once while slurmctld starts.
        for (int tries = 0; tries < 400; ++tries) {
            ::poll(nullptr, 0, 25);
            if (run(with_conf() + "scontrol ping >/dev/null 2>&1") == 0) {
                return true;
            }
        }
        kill_by("slurmctld.pid", SIGKILL);
        return false;
    }

    void kill_by(const std::string& file, int signal) const {
        pid_t pid = 0;
        std::ifstream{dir_ + "/" + file} >> pid;
        if (pid > 1) {
            ::kill(pid, signal);
        }
    }
    std::string dir_ = "/tmp/stagecast-slurm-XXXXXX";
};

/// In a child: has `file` for /etc/hosts from now on.
bool take_hosts(const std::string& file) {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount(file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
}

/// A spawner whose queries see `conf` as slurm.conf, and `hosts`, if not "", as /etc/hosts.
struct QueryWorld {
    explicit QueryWorld(const std::string& conf, const std::string& hosts = "")
        : spawn{{[conf, hosts](int fd) {
              ::setenv("SLURM_CONF", conf.c_str(), 1);
              return hosts.empty() || take_hosts(hosts) ? run_slurm_query(fd) : 1;
          }}} {}

    Result<SlurmAnswer> ask(const SlurmQuestion& question) {
        auto query = SlurmQuery::start(spawn.spawner(), 0, question, kNow);
        REQUIRE(query);
        while (!query->answer()) {
            REQUIRE(wait_readable(query->fd()));
            query->on_readable();
        }
        return *query->answer();
    }
    SpawnWorld spawn;
};

std::vector<SlurmNode> nodes_of(const Result<SlurmAnswer>& answer) {
    INFO((answer ? std::string{} : answer.error().sentence()));
    REQUIRE(answer);
    return std::get<std::vector<SlurmNode>>(*answer);
}

}  // namespace

TEST_CASE("slurmctld tells addresses in rank order, and a job's state") {
    if (!can_run()) {
        return;
    }
    const Controller controller;
    QueryWorld world{controller.conf()};
    const std::string hosts = controller.conf() + ".hosts";
    std::ofstream{hosts} << "::1 localhost\n127.0.0.1 localhost\n";
    QueryWorld of_both{controller.conf(), hosts};
    CHECK(nodes_of(of_both.ask(ResolveQuestion{"named"})) ==
          std::vector<SlurmNode>{{"named", "127.0.0.1"}});
    CHECK(nodes_of(world.ask(ResolveQuestion{"n[2,0-1],named"})) ==
          std::vector<SlurmNode>{{"n2", "10.77.1.3"},
                                 {"n0", "10.77.1.1"},
                                 {"n1", "10.77.1.2"},
                                 {"named", "127.0.0.1"}});
    CHECK(nodes_of(world.ask(ExpandQuestion{"a[08-10],b"})) ==
          std::vector<SlurmNode>{{"a08", ""}, {"a09", ""}, {"a10", ""}, {"b", ""}});

    const auto unknown = world.ask(ResolveQuestion{"n0,no-such-node"});
    REQUIRE_FALSE(unknown);
    CHECK_THAT(unknown.error().sentence(), Catch::Contains("no-such-node"));

    const auto absent = world.ask(JobStateQuestion{4711});
    REQUIRE(absent);
    CHECK(std::get<SlurmJob>(*absent).state == SlurmJobState::absent);

    REQUIRE(run(controller.with_conf() + "sbatch -H -o /dev/null --wrap=true >/dev/null") == 0);
    const auto held = world.ask(JobStateQuestion{1});
    REQUIRE(held);
    CHECK(std::get<SlurmJob>(*held) == SlurmJob{SlurmJobState::ended, 0, "PENDING"});
    REQUIRE(run(controller.with_conf() + "scancel 1") == 0);
    const auto cancelled = world.ask(JobStateQuestion{1});
    REQUIRE(cancelled);
    CHECK(std::get<SlurmJob>(*cancelled) == SlurmJob{SlurmJobState::ended, 0, "CANCELLED"});
}

TEST_CASE("a job that is suspended, or is being ended, has not ended") {
    for (const auto& [slurm_state, state] : std::map<std::uint32_t, SlurmJobState>{
             {JOB_RUNNING, SlurmJobState::alive},
             {JOB_RUNNING | JOB_CONFIGURING, SlurmJobState::alive},
             {JOB_RUNNING | JOB_STOPPED, SlurmJobState::suspended},
             {JOB_SUSPENDED, SlurmJobState::suspended},
             {JOB_RUNNING | JOB_COMPLETING, SlurmJobState::completing},
             {JOB_TIMEOUT | JOB_COMPLETING, SlurmJobState::completing},
             {JOB_PENDING | JOB_REQUEUE | JOB_COMPLETING, SlurmJobState::completing},
             {JOB_PENDING, SlurmJobState::ended},
             {JOB_RUNNING | JOB_REQUEUE, SlurmJobState::ended},
             {JOB_CANCELLED, SlurmJobState::ended}}) {
        CAPTURE(slurm_state);
        CHECK(state_of_job(slurm_state) == state);
    }
}

TEST_CASE("without a slurm.conf there is an error, and only the child ends") {
    QueryWorld world{"/nonexistent/slurm.conf"};
    const auto answer = world.ask(JobStateQuestion{1});
    REQUIRE_FALSE(answer);
    CHECK(answer.error().blame() == Blame::node);
    CHECK(answer.error().sentence() ==
          "Slurm's configuration /nonexistent/slurm.conf: No such file or directory");
    // And the next one is asked afresh.
    CHECK_FALSE(world.ask(ResolveQuestion{"n0"}));
}

TEST_CASE("when libslurm ends its process, what it said is the sentence") {
    std::string broken = "/tmp/stagecast-conf-XXXXXX";
    const UniqueFd fd{::mkstemp(broken.data())};
    REQUIRE(::write(fd.get(), "Nonsense=1\n", 11) == 11);
    QueryWorld world{broken};
    const auto answer = world.ask(JobStateQuestion{1});
    ::unlink(broken.c_str());
    REQUIRE_FALSE(answer);
    CHECK_THAT(
        answer.error().sentence(),
        Catch::StartsWith("Slurm's library gave up (") && !Catch::Contains("no reason given"));
}

TEST_CASE("no slurmctld is no verdict") {
    if (!can_run()) {
        return;
    }
    const Controller controller;
    QueryWorld world{controller.conf()};
    SECTION("stopped: the daemon's own time limit") {
        controller.stop();
        auto query = SlurmQuery::start(world.spawn.spawner(), 0, JobStateQuestion{1}, kNow);
        REQUIRE(query);
        query->on_time(query->deadline() - Duration{1});
        CHECK_FALSE(query->answer());
        query->on_time(query->deadline());
        REQUIRE(query->answer());
        REQUIRE_FALSE(*query->answer());
        CHECK((*query->answer()).error().sentence() ==
              "Slurm does not answer; is slurmctld reachable?");
    }
    SECTION("the child killed") {
        controller.stop();
        auto query = SlurmQuery::start(world.spawn.spawner(), 0, JobStateQuestion{1}, kNow);
        REQUIRE(query);
        const pid_t pid = world.spawn.next(SpawnEvent::Kind::started).pid;
        REQUIRE(world.spawn.spawner().kill(pid, SIGKILL));
        REQUIRE(wait_readable(query->fd()));
        query->on_readable();
        REQUIRE(query->answer());
        CHECK_FALSE(*query->answer());
    }
}

TEST_CASE("questions and answers survive their bytes, garbage does not") {
    for (const SlurmQuestion& question : {SlurmQuestion{ExpandQuestion{"n[0-3]"}},
                                          SlurmQuestion{ResolveQuestion{""}},
                                          SlurmQuestion{JobStateQuestion{77}}}) {
        auto bytes = encode_question(question);
        const auto back = decode_question(bytes);
        REQUIRE(back);
        CHECK(back->index() == question.index());
        bytes.push_back(std::byte{0});
        CHECK_FALSE(decode_question(bytes));
    }
    const std::vector<SlurmNode> nodes{{"n0", "10.0.0.1"}, {"n1", "fd00::1"}};
    CHECK(nodes_of(decode_slurm_answer(encode_slurm_answer(SlurmAnswer{nodes}))) == nodes);
    const SlurmJob job{SlurmJobState::completing, 3, "PREEMPTED"};
    auto bytes = encode_slurm_answer(SlurmAnswer{job});
    const auto back = decode_slurm_answer(bytes);
    REQUIRE(back);
    CHECK(std::get<SlurmJob>(*back) == job);
    const auto error = decode_slurm_answer(encode_slurm_answer(Error{Blame::node, "why"}));
    REQUIRE_FALSE(error);
    CHECK(error.error().sentence() == "why");
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        CHECK_FALSE(decode_slurm_answer(Bytes{bytes}.first(length)));
    }
    bytes[1] = std::byte{5};  // No state.
    CHECK_FALSE(decode_slurm_answer(bytes));
}
