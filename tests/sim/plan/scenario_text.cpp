// Prints a plan as a test case that can be pasted into tests/sim.
#include "tests/sim/plan/minimise.h"
#include "tests/sim/plan/plan_fields.h"

#include <sstream>
#include <type_traits>

namespace stage::sim {
namespace {

std::string text_of(Duration time) {
    const auto ns = time.count();
    if (ns % 1'000'000 == 0) {
        return "milliseconds{" + std::to_string(ns / 1'000'000) + "}";
    }
    return ns % 1'000 == 0 ? "microseconds{" + std::to_string(ns / 1'000) + "}"
                           : "Duration{" + std::to_string(ns) + "}";
}

std::string text_of(bool value) {
    return value ? "true" : "false";
}

template <class Number>
requires(std::is_integral_v<Number> && !std::is_same_v<Number, bool>) std::string
    text_of(Number value) {
    return std::to_string(value);
}

std::string text_of(const core::BlockRun& run) {
    return "{.first = BlockIndex{" + std::to_string(run.first.value()) +
           "}, .count = " + std::to_string(run.count) + "}";
}

std::string text_of(const Partition& one);
std::string text_of(const FlowPlan& one);
std::string text_of(const Strike& one);
std::string text_of(const RailFault& one);

template <class Each>
std::string text_of(const std::vector<Each>& list) {
    std::string text = "{";
    for (const Each& each : list) {
        text += (text.size() > 1 ? ", " : "") + text_of(each);
    }
    return text + "}";
}

template <class Value>
std::string text_of(const std::optional<Value>& value) {
    return value ? text_of(*value) : "std::nullopt";
}

std::string text_of(const Partition& one) {
    return "{.members = " + text_of(one.members) + ", .begin = " + text_of(one.begin) +
           ", .end = " + text_of(one.end) + ", .hears_nothing = " + text_of(one.hears_nothing) +
           ", .says_nothing = " + text_of(one.says_nothing) + "}";
}

std::string text_of(const FlowPlan& one) {
    return "{.from = " + text_of(one.from) + ", .to = " + text_of(one.to) +
           ", .begin = " + text_of(one.begin) + ", .end = " + text_of(one.end) + "}";
}

std::string text_of(const Strike& one) {
    const char* whens[] = {"ready", "lacking", "request", "report", "done", "holds", "data"};
    const char* harms[] = {"crash", "abort", "cut_off", "deafen", "mute"};
    return std::string{"{.when = Seen::"} + whens[static_cast<std::size_t>(one.when)] +
           ", .of = " + text_of(one.of) + ", .nth = " + text_of(one.nth) +
           ", .harm = Harm::" + harms[static_cast<std::size_t>(one.harm)] +
           ", .member = " + text_of(one.member) + ", .lasts = " + text_of(one.lasts) + "}";
}

std::string text_of(const RailFault& one) {
    const char* harms[] = {"lost", "down", "blocked", "lossy", "slow"};
    return std::string{"{.harm = RailHarm::"} + harms[static_cast<std::size_t>(one.harm)] +
           ", .rail = " + text_of(one.rail) + ", .of = " + text_of(one.of) +
           ", .begin = " + text_of(one.begin) + ", .end = " + text_of(one.end) +
           ", .loss_ppm = " + text_of(one.loss_ppm) +
           ", .bytes_per_s = " + text_of(one.bytes_per_s) + "}";
}

/// `name = value;` for each field that is not as in `standard`.
class Assignments {
  public:
    explicit Assignments(std::string of) : of_{std::move(of)} {}

    template <class Value>
    void add(const char* name, const Value& value, const Value& standard) {
        if (value != standard) {
            out_ << "    " << of_ << name << " = " << text_of(value) << ";\n";
        }
    }
    [[nodiscard]] std::string text() const { return out_.str(); }

  private:
    std::string of_;
    std::ostringstream out_;
};

/// What `list` of two visits of the same fields says.
template <class Of, class ForEach>
std::string differences(const std::string& prefix, const Of& of, const ForEach& for_each) {
    const Of standard{};
    Assignments out{prefix};
    std::size_t place = 0;
    for_each(of, [&](const char* name, const auto& value) {
        std::size_t at = 0;
        for_each(standard, [&](const char*, const auto& usual) {
            if constexpr (std::is_same_v<decltype(value), decltype(usual)>) {
                if (at == place) {
                    out.add(name, value, usual);
                }
            }
            ++at;
        });
        ++place;
    });
    return out.text();
}

}  // namespace

std::string scenario_text(const Plan& plan) {
    std::string text = "TEST_CASE(\"seed " + std::to_string(plan.seed) +
                       ": ...\", \"[scenario]\") {\n    Plan plan;\n    plan.seed = " +
                       std::to_string(plan.seed) +
                       ";\n    plan.members = " + std::to_string(plan.members) +
                       ";\n    plan.member.resize(plan.members);\n    plan.source = " +
                       std::to_string(plan.source) +
                       ";\n    plan.block_bytes = " + text_of(plan.block_bytes) + ";\n";
    text += differences(
        "plan.", plan, [](const auto& of, const auto& visit) { for_each_setting(of, visit); });
    for (std::size_t rank = 0; rank < plan.member.size(); ++rank) {
        text +=
            differences("plan.member[" + std::to_string(rank) + "].",
                        plan.member[rank],
                        [](const auto& of, const auto& visit) { for_each_fault(of, visit); });
    }
    if (!plan.partitions.empty()) {
        text += "    plan.partitions = " + text_of(plan.partitions) + ";\n";
    }
    if (!plan.flows.empty()) {
        text += "    plan.flows = " + text_of(plan.flows) + ";\n";
    }
    if (!plan.rail_faults.empty()) {
        text += "    plan.rail_faults = " + text_of(plan.rail_faults) + ";\n";
    }
    if (!plan.strikes.empty()) {
        text += "    plan.strikes = " + text_of(plan.strikes) + ";\n";
    }
    return text + "    const Ran ran{plan};\n}\n";
}

}  // namespace stage::sim
