// faulty-worker FAULTS OPTIONS...: runs the engine on a network that misbehaves.
//
// stagecast-worker's engine with a faulty driver around its own; see read_faults(). At the end
// it writes to stderr what it did to the packets.
#include "stager/worker/engine/engine.h"
#include "tests/net/faulty_driver.h"

#include <cstdio>
#include <cstdlib>

namespace stage::test {
namespace {

constexpr int kMisused = 64;

int complain(const Error& why) {
    static_cast<void>(std::fprintf(stderr, "faulty-worker: %s\n", why.sentence().c_str()));
    return kMisused;
}

/// Says what was done when the driver's life ends.
class TellingDriver final : public Driver {
  public:
    TellingDriver(std::unique_ptr<Driver> inner, const Faults& faults)
        : faulty_{std::move(inner), faults} {}
    ~TellingDriver() override {
        const FaultCounters& done = faulty_.faults_done();
        static_cast<void>(std::fprintf(
            stderr,
            "faults: offered %lu dropped %lu duplicated %lu corrupted %lu reordered %lu\n",
            done.offered,
            done.dropped,
            done.duplicated,
            done.corrupted,
            done.reordered));
    }
    Status receive(std::vector<ReceivedPacket>& packets, Readable readable) override {
        return faulty_.receive(packets, readable);
    }
    Result<Sent> send(const Train& train) override { return faulty_.send(train); }
    [[nodiscard]] std::vector<std::unique_ptr<FlowInbox>> take_flows() override {
        return faulty_.take_flows();
    }
    [[nodiscard]] bool carries(Flow flow) override { return faulty_.carries(flow); }
    [[nodiscard]] int outlet_descriptor(std::size_t outlet) const override {
        return faulty_.outlet_descriptor(outlet);
    }
    [[nodiscard]] bool prepare_wait(Readable awaited) override {
        return faulty_.prepare_wait(awaited);
    }
    [[nodiscard]] short outlet_events() const override { return faulty_.outlet_events(); }
    [[nodiscard]] std::vector<int> descriptors() const override {
        return faulty_.descriptors();
    }
    [[nodiscard]] int stream_descriptor() const override { return faulty_.stream_descriptor(); }
    [[nodiscard]] const DriverCounters& counters() const override { return faulty_.counters(); }
    [[nodiscard]] std::string name() const override { return faulty_.name(); }

  private:
    FaultyDriver faulty_;
};

int run(const std::vector<std::string>& arguments) {
    const auto faults = read_faults(arguments.empty() ? "none" : arguments.front());
    if (!faults) {
        return complain(faults.error());
    }
    const auto options = parse_engine_options({arguments.begin() + 1, arguments.end()}, "/");
    auto interrupts = Interrupts::make();
    if (!options || !interrupts) {
        return complain(options ? interrupts.error() : options.error());
    }
    Faults own = *faults;
    // Each member's faults are its own: tests/net/member.py says which one this is.
    const char* const rank = std::getenv("MEMBER_RANK");  // NOLINT(concurrency-mt-unsafe)
    own.seed = own.seed * 1000 + (rank != nullptr ? std::strtoul(rank, nullptr, 10) : 0);
    return run_engine(Logger::to_stderr("faulty-worker", LogLevel::info),
                      *options,
                      *interrupts,
                      [own](std::unique_ptr<Driver> inner) -> std::unique_ptr<Driver> {
                          return std::make_unique<TellingDriver>(std::move(inner), own);
                      });
}

}  // namespace
}  // namespace stage::test

int main(int argc, char** argv) {
    return stage::test::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
