// RDMA devices of one network without hardware, whose work is done at once and in memory.
//
// Plans of faults: datagrams are lost, doubled and reordered; a call fails; sends stay under
// way; a device goes away; address handles take until the test lets them go.
#pragma once

#include "transport/os/unique_fd.h"
#include "transport/verbs/device.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>

namespace stage::verbs::test {

struct FakePlan {
    unsigned loses_every = 0;  ///< Each so-manieth delivery; 0: none.
    unsigned doubles_every = 0;
    unsigned reorders_every = 0;  ///< It arrives after the next one.
    bool holds_sends = false;     ///< Until FakeNet::finish_sends().
    bool holds_events = false;    ///< Until FakeNet::finish_events(); completions are there.
    bool holds_handles = false;   ///< Until FakeNet::finish_handles().
};

class FakeQueuePair;
class FakeQueue;

/// What the devices have in common. Outlives them.
class FakeNet {
  public:
    explicit FakeNet(const FakePlan& given = {}) : plan{given} {}

    void finish_sends();
    void finish_handles();
    void finish_events();

    FakePlan plan;
    std::mutex mutex;
    std::condition_variable handles;
    std::uint32_t next_number = 17;
    std::map<std::uint32_t, FakeQueuePair*> pairs;
    std::map<std::string, std::set<FakeQueuePair*>> groups;
    std::deque<std::pair<FakeQueue*, Completion>> held;
    std::deque<int> held_events;
    unsigned deliveries = 0;
    int joins = 0;
};

/// A port's own faults.
struct FakePortPlan {
    PortFacts facts;
    int fails_call = -1;  ///< The call with this number, from 0 on, fails once.
    std::atomic<bool> has_gone{false};
};

/// Its GID is ::ffff:10.0.0.`host`.
[[nodiscard]] PortFacts facts_of_host(std::uint8_t host);
/// Both must outlive the port.
[[nodiscard]] std::unique_ptr<DevicePort> open_fake(FakeNet& net, FakePortPlan& plan);

}  // namespace stage::verbs::test
