#include "stager/spawn/request.h"

#include "transport/base/codec.h"

#include <csignal>
#include <limits>

namespace stage {
namespace {

enum class Ask : std::uint8_t { program = 1, role = 2, remove = 3, kill = 4 };

constexpr std::size_t kTextMax = 64U << 10U;
constexpr std::size_t kItemsMax = 4096;
constexpr std::size_t kNameMax = 255;
constexpr std::size_t kPathPartsMax = 4;
constexpr int kOomMax = 1000;

void write_texts(ByteWriter& out, const std::vector<std::string>& texts) {
    out.u32(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) {
        out.text(text);
    }
}

std::vector<std::string> read_texts(ByteReader& reader) {
    std::vector<std::string> texts;
    const std::size_t count = reader.u32();
    if (count > kItemsMax) {
        reader.fail();
    }
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        texts.push_back(reader.text(kTextMax));
    }
    return texts;
}

void write_user(ByteWriter& out, const UserIdentity& user) {
    out.u32(user.uid).u32(user.gid).text(user.name);
}

UserIdentity read_user(ByteReader& reader) {
    UserIdentity user;
    user.uid = reader.u32();
    user.gid = reader.u32();
    user.name = reader.text(kNameMax);
    // setuid(-1) means "unchanged": a child without a valid user must not stay root.
    if (user.uid == static_cast<uid_t>(-1) || user.gid == static_cast<gid_t>(-1)) {
        reader.fail();
    }
    return user;
}

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

void write_body(ByteWriter& out, const ProgramRequest& program) {
    out.u8(static_cast<std::uint8_t>(Ask::program)).text(program.path);
    write_texts(out, program.arguments);
    write_texts(out, program.environment);
    out.u8(program.user ? 1 : 0);
    if (program.user) {
        write_user(out, *program.user);
    }
    out.u32(program.umask).u32(static_cast<std::uint32_t>(program.oom_score_adj + kOomMax));
    out.text(program.group).u8(program.has_output ? 1 : 0);
}

void write_body(ByteWriter& out, const RoleRequest& role) {
    out.u8(static_cast<std::uint8_t>(Ask::role)).u32(role.role);
}

void write_body(ByteWriter& out, const RemoveRequest& remove) {
    out.u8(static_cast<std::uint8_t>(Ask::remove));
    write_texts(out, remove.path);
    write_user(out, remove.user);
    out.u8(remove.has_directory ? 1 : 0).u8(remove.has_lists ? 1 : 0);
}

void write_body(ByteWriter& out, const KillRequest& kill) {
    out.u8(static_cast<std::uint8_t>(Ask::kill));
    out.u32(static_cast<std::uint32_t>(kill.pid)).u32(static_cast<std::uint32_t>(kill.signal));
}

ProgramRequest read_program(ByteReader& reader) {
    ProgramRequest program;
    program.path = reader.text(kTextMax);
    program.arguments = read_texts(reader);
    program.environment = read_texts(reader);
    if (reader.u8() != 0) {
        program.user = read_user(reader);
    }
    program.umask = reader.u32();
    const std::int64_t oom_score_adj = std::int64_t{reader.u32()} - kOomMax;
    program.group = reader.text(kNameMax);
    const std::uint8_t has_output = reader.u8();
    const bool good = program.path.size() > 1 && program.path.front() == '/' &&
                      program.path.find('\0') == std::string::npos &&
                      !program.arguments.empty() && !has_zero(program.arguments) &&
                      !has_zero(program.environment) && program.umask <= 0777 &&
                      oom_score_adj <= kOomMax && has_output <= 1 &&
                      (program.group.empty() || is_entry(program.group));
    if (!good) {
        reader.fail();
        return program;
    }
    program.oom_score_adj = static_cast<int>(oom_score_adj);
    program.has_output = has_output == 1;
    return program;
}

RemoveRequest read_remove(ByteReader& reader) {
    RemoveRequest remove;
    remove.path = read_texts(reader);
    remove.user = read_user(reader);
    remove.has_directory = reader.u8() != 0;
    remove.has_lists = reader.u8() != 0;
    bool good = !remove.path.empty() && remove.path.size() <= kPathPartsMax;
    for (const std::string& name : remove.path) {
        good = good && is_entry(name);
    }
    if (!good) {
        reader.fail();
    }
    return remove;
}

KillRequest read_kill(ByteReader& reader) {
    KillRequest kill;
    const std::uint32_t pid = reader.u32();
    const std::uint32_t signal = reader.u32();
    if (pid <= 1 || pid > std::numeric_limits<pid_t>::max() ||
        signal > static_cast<std::uint32_t>(SIGRTMAX)) {
        reader.fail();
    }
    kill.pid = static_cast<pid_t>(pid);
    kill.signal = static_cast<int>(signal);
    return kill;
}

}  // namespace

std::vector<std::byte> encode_spawn_request(std::uint32_t id, const SpawnRequest& request) {
    ByteWriter out;
    out.u32(id);
    std::visit([&out](const auto& body) { write_body(out, body); }, request);
    return out.take();
}

Result<NumberedRequest> decode_spawn_request(Bytes message) {
    ByteReader reader{message};
    NumberedRequest numbered;
    numbered.id = reader.u32();
    switch (static_cast<Ask>(reader.u8())) {
        case Ask::program:
            numbered.request = read_program(reader);
            break;
        case Ask::role:
            numbered.request = RoleRequest{.role = reader.u32()};
            break;
        case Ask::remove:
            numbered.request = read_remove(reader);
            break;
        case Ask::kill:
            numbered.request = read_kill(reader);
            break;
        default:
            reader.fail();
            break;
    }
    if (!reader.finished()) {
        return Error{Blame::internal, "the spawner was asked something that it does not know"};
    }
    return numbered;
}

}  // namespace stage
