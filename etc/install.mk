# Included by the Makefile: installs the programs, and makes the Debian package.
#
# The paths in etc/ are those of the defaults; another PREFIX or SYSCONFDIR rewrites them.
put     = $(if $1,install -D -m $2 $1 $(DESTDIR)$(strip $3))
rewrite = install -d $(DESTDIR)$(dir $2) && sed -e 's,/usr/,$(PREFIX)/,g' \
    -e 's,/etc/,$(SYSCONFDIR)/,g' $1 >$(DESTDIR)$2 && chmod 0644 $(DESTDIR)$2
plugstack := plugstack.conf.d/stagecast.conf
# (Worker and PMIx host run as users: a process of a program that its user can't read is none
# that this user can trace, from exec on.)
install: programs
	$(call put,$(PLUGIN),0755,$(PREFIX)/lib/slurm/stagecast.so)
	$(call put,$(DAEMON),0755,$(PREFIX)/sbin/stagecastd)
	$(call put,$(COMMAND),0755,$(PREFIX)/bin/stagecast)
	$(call put,$(WORKER),0711,$(PREFIX)/libexec/stagecast/stagecast-worker)
	$(call put,$(HOST),0711,$(PREFIX)/libexec/stagecast/stagecast-pmix-host)
	$(call rewrite,etc/stagecastd.service,$(PREFIX)/lib/systemd/system/stagecastd.service)
	install -d $(DESTDIR)$(PREFIX)/share/man/man5 $(DESTDIR)$(SYSCONFDIR)/stagecast
	$(if $(DAEMON),$(DAEMON) -m >$(DESTDIR)$(PREFIX)/share/man/man5/stagecast.conf.5)
	$(if $(DAEMON),test -e $(DESTDIR)$(SYSCONFDIR)/stagecast/stagecast.conf || \
	    $(DAEMON) -p -c '' >$(DESTDIR)$(SYSCONFDIR)/stagecast/stagecast.conf)
	$(call put,docs/man/stagecast.1,0644,$(PREFIX)/share/man/man1/stagecast.1)
	$(call put,etc/bash-completion/stagecast,0644,\
	    $(PREFIX)/share/bash-completion/completions/stagecast)
	$(call put,docs/man/stagecastd.8,0644,$(PREFIX)/share/man/man8/stagecastd.8)
	$(call put,docs/man/stagecast-spank.7,0644,$(PREFIX)/share/man/man7/stagecast-spank.7)
	$(call rewrite,etc/$(plugstack),$(SYSCONFDIR)/slurm/$(plugstack))

# The package of this Debian, for this Debian: it needs what its programs were linked with. Made
# by debhelper, beside the build, whose objects it takes; etc/debian/package says how.
deb: ready-to-package
	@$(MAKE) programs
	@MAKEFLAGS= etc/debian/package $(BUILD)/deb $(STAGECAST_VERSION)
# The source package of HEAD, for sbuild and its kin.
dsc: ready-to-package
	@BUILD_DEPENDS="$(strip $(deps_build))" etc/debian/package --source $(BUILD)/deb $(STAGECAST_VERSION)

# What a site has changed in its stagecast.conf stays, as do the files of jobs.
uninstall:
	$(if $(DAEMON),! $(DAEMON) -p -c '' | \
	    cmp -s - $(DESTDIR)$(SYSCONFDIR)/stagecast/stagecast.conf || \
	    rm $(DESTDIR)$(SYSCONFDIR)/stagecast/stagecast.conf)
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,lib/slurm/stagecast.so sbin/stagecastd bin/stagecast \
	    lib/systemd/system/stagecastd.service share/man/man1/stagecast.1 \
	    share/man/man5/stagecast.conf.5 share/man/man7/stagecast-spank.7 \
	    share/man/man8/stagecastd.8 share/bash-completion/completions/stagecast) \
	    $(DESTDIR)$(SYSCONFDIR)/slurm/$(plugstack)
	rm -rf $(DESTDIR)$(PREFIX)/libexec/stagecast
	-rmdir $(DESTDIR)$(SYSCONFDIR)/stagecast 2>/dev/null
