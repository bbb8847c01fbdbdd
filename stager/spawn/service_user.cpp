#include "stager/spawn/service_user.h"

#include <pwd.h>

#include <vector>

namespace stage {
namespace {

constexpr uid_t kNobody = 65'534;
constexpr std::size_t kEntryMax = 65'536;

}  // namespace

UserIdentity service_user() {
    std::vector<char> room(kEntryMax);
    passwd entry{};
    passwd* found = nullptr;
    const int error = ::getpwnam_r(kServiceUser, &entry, room.data(), room.size(), &found);
    const bool is_own =
        error == 0 && found != nullptr && entry.pw_uid != 0 && entry.pw_gid != 0;
    return is_own ? UserIdentity{entry.pw_uid, entry.pw_gid, kServiceUser}
                  : UserIdentity{kNobody, kNobody, {}};
}

}  // namespace stage
