#include "stager/spawn/request.h"

#include "transport/base/fields.h"

#include <algorithm>
#include <csignal>

namespace stage {
namespace {

constexpr TypeNumbers<SpawnRequest> kRequests{1, 2, 3, 4};

constexpr std::size_t kTextMax = 64U << 10U;
constexpr std::size_t kItemsMax = 4096;
constexpr std::size_t kNameMax = 255;
constexpr std::size_t kPathPartsMax = 4;
constexpr int kOomMax = 1000;

/// Whether it is one name in a directory, without a path.
bool is_entry(const std::string& name) {
    return !name.empty() && name.size() <= kNameMax && name != "." && name != ".." &&
           name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

bool has_zero(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
        if (text.find('\0') != std::string::npos) {
            return true;
        }
    }
    return false;
}

void texts(auto& on, auto& all) {
    on.list(all, kItemsMax, [](auto& each, auto& text) { each.any_text(text, kTextMax); });
}

void put_user(ByteWriter& out, const std::optional<UserIdentity>& user);
std::optional<UserIdentity> take_user(ByteReader& in);

bool is_sound(const ProgramRequest& program) {
    return program.path.size() > 1 && program.path.front() == '/' &&
           program.path.find('\0') == std::string::npos && !program.arguments.empty() &&
           !has_zero(program.arguments) && !has_zero(program.environment) &&
           program.umask <= 0777 && program.oom_score_adj >= -kOomMax &&
           program.oom_score_adj <= kOomMax &&
           (program.group.empty() || is_entry(program.group));
}

}  // namespace

void fields(auto& on, Like<UserIdentity> auto& user) {
    on.number(user.uid).number(user.gid).any_text(user.name, kNameMax);
    // setuid(-1) means "unchanged": a child without a valid user must not stay root.
    on.require(user.uid != static_cast<uid_t>(-1));
}

void fields(auto& on, Like<ProgramRequest> auto& program) {
    on.any_text(program.path, kTextMax);
    texts(on, program.arguments);
    texts(on, program.environment);
    on.with(program.user, put_user, take_user).number(program.umask);
    on.with(
        program.oom_score_adj,
        [](ByteWriter& out, int score) {
            out.u32(static_cast<std::uint32_t>(score + kOomMax));
        },
        [](ByteReader& in) {
            return static_cast<int>(std::min<std::uint32_t>(in.u32(), 2 * kOomMax + 1)) -
                   kOomMax;
        });
    on.any_text(program.group, kNameMax).flag(program.has_output);
    on.require(is_sound(program));
}

void fields(auto& on, Like<RoleRequest> auto& role) {
    on.number(role.role);
}

void fields(auto& on, Like<RemoveRequest> auto& remove) {
    texts(on, remove.path);
    fields(on, remove.user);
    on.flag(remove.has_directory).flag(remove.has_lists);
    on.require(!remove.path.empty() && remove.path.size() <= kPathPartsMax &&
               std::ranges::all_of(remove.path, is_entry));
}

void fields(auto& on, Like<KillRequest> auto& kill) {
    on.signed_number(kill.pid).signed_number(kill.signal);
    on.require(kill.pid > 1 && kill.signal >= 0 && kill.signal <= SIGRTMAX);
}

namespace {

void put_user(ByteWriter& out, const std::optional<UserIdentity>& user) {
    FieldWriter on{out.u8(user ? 1 : 0)};
    if (user) {
        fields(on, *user);
    }
}

std::optional<UserIdentity> take_user(ByteReader& in) {
    std::optional<UserIdentity> user;
    if (in.u8() != 0) {
        FieldReader on{in};
        fields(on, user.emplace());
    }
    return user;
}

}  // namespace

std::vector<std::byte> encode_spawn_request(std::uint32_t id, const SpawnRequest& request) {
    ByteWriter out;
    put_message(out.u32(id), kRequests, request);
    return out.take();
}

Result<NumberedRequest> decode_spawn_request(Bytes message) {
    ByteReader reader{message};
    const std::uint32_t id = reader.u32();
    auto request = take_message<SpawnRequest>(reader, kRequests);
    if (!reader.finished()) {
        return Error{Blame::internal, "the spawner was asked something that it does not know"};
    }
    return NumberedRequest{.id = id, .request = *std::move(request)};
}

}  // namespace stage
