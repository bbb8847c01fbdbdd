// What all nodes of a stage have alike and their workers use.
//
// The root draws it from its configuration. It goes in the plan to the other daemons, and from
// each of them in SETUP to its worker, whole: one more is a member here, and a field below.
#pragma once

#include "stager/messages/policy_fields.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace stage {

struct StageSettings {
    std::array<std::byte, 16> session{};
    std::array<std::byte, 32> group_key{};
    std::string group_address;  ///< Numeric, "239.192.0.7" or "ff35::7"; empty: no multicast.
    std::uint16_t group_port = 0;
    std::uint8_t rails = 1;  ///< Consecutive addresses of the group; at most its flows.
    Transport transport = Transport::automatic;
    Protection protection = Protection::encrypt;
    std::uint64_t rate_max = 0;       ///< Upper limit, bits per second on the wire; 0: none.
    bool rate_is_configured = false;  ///< Send at rate_max; otherwise search for the rate.
    Policies policies;
    /// The ids of an array task whose patterns may need them (spec/name_pattern.h); else 0.
    std::uint32_t array_job_id = 0;
    std::uint32_t array_task_id = 0;
    bool cards_follow = false;  ///< Cards go through the daemons, not through PMIx.
    /// The others go on without a node that fails while the files are on their way.
    bool drops_failed = false;

    bool operator==(const StageSettings&) const = default;
};

/// Describes the settings that a plan and a SETUP begin with.
void fields_of_settings(auto& on, auto& settings) {
    constexpr std::size_t kMaxAddressBytes = 64;
    on.raw(settings.session).raw(settings.group_key);
    on.text(settings.group_address, kMaxAddressBytes).number(settings.group_port);
    on.number(settings.rails).choice(settings.transport, last_of<Transport>());
    on.choice(settings.protection, Protection::encrypt);
    on.number(settings.rate_max).flag(settings.rate_is_configured);
    fields(on, settings.policies);
    on.number(settings.array_job_id).number(settings.array_task_id);
    on.flag(settings.cards_follow).flag(settings.drops_failed);
    on.require(settings.rails >= 1);
}

}  // namespace stage
