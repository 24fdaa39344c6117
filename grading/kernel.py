"""What a program in a sandbox may ask of the kernel: the calls below, and no others.

A call that is not here fails as on a kernel that does not know it, so that C's library takes
another way. What is left out, then, needs no list. It would make memory that belongs to no process
(memfd_create, shmget, mq_open, hugetlb; a socket's larger buffers), look into another process
(ptrace, process_vm_readv), or let two sandboxes talk: over a file of the system, which both read
(locks, leases, inotify), over what of it is in memory (readahead, mincore, cachestat), over a
count that the kernel keeps for all (sysinfo, epoll, priorities, message queues, keys), or over how
full a disk is (statfs, ustat).
"""

import errno
import functools
import tempfile

# Names of one architecture alone, and names that a library does not know yet, are passed over.
FILES = """
access chdir close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fallocate
fchdir fdatasync fgetxattr flistxattr fstat fsync ftruncate getcwd getdents getdents64 getxattr
lgetxattr link linkat listxattr llistxattr lseek lstat mkdir mkdirat mknod mknodat newfstatat open
openat openat2 pread64 preadv pwrite64 pwritev read readlink readlinkat readv rename renameat
renameat2 rmdir sendfile stat statx symlink symlinkat truncate umask unlink unlinkat write writev
"""
MEMORY = "brk mprotect mremap msync munmap"
PROCESSES = """
arch_prctl clone clone3 execve execveat exit exit_group fork getcpu getegid geteuid getgid getgroups
getpgid getpgrp getpid getppid getresgid getresuid getrlimit getrusage getsid gettid getuid kill
membarrier pidfd_open pidfd_send_signal prctl prlimit64 rseq sched_get_priority_max
sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler sched_setaffinity
sched_yield set_robust_list set_tid_address setpgid setrlimit setsid tgkill times tkill uname vfork
wait4 waitid
"""
SIGNALS_AND_TIME = """
alarm clock_getres clock_gettime clock_nanosleep getitimer getrandom gettimeofday nanosleep pause
restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer sigaltstack signalfd signalfd4 time
timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
timerfd_gettime timerfd_settime
"""
WAITING_AND_TALKING = """
accept accept4 bind connect eventfd eventfd2 futex futex_requeue futex_wait futex_waitv futex_wake
getpeername getsockname getsockopt listen pipe pipe2 poll ppoll pselect6 recvfrom recvmmsg recvmsg
select sendmmsg sendmsg sendto shutdown
"""
# Calls that change what stands of a file beside its content. The nodes of /dev are the machine's
# own, and who grades as root owns them: without rights to /dev/null no sandbox begins, and their
# times are letters to a later one. Programs of every day make these calls (`cp -p`, zip): they
# succeed, and do nothing. So do those that have the machine write all of its files.
QUIET = """
chmod chown fchmod fchmodat fchmodat2 fchown fchownat futimesat lchown sync syncfs utime utimensat
utimes
"""
_INT = 0xFFFFFFFF
# A call, one of its arguments, which bits of it count, and the values that they may have.
IN_PART = (
    ("fcntl", 1, _INT, (*range(6), 36, 1030, 1032)),  # F_DUPFD to F_GETLK, F_OFD_GETLK, _GETPIPE_SZ
    ("ioctl", 1, 0xFF00, (0x5400,)),  # of terminals and descriptors
    # madvise: not MADV_RANDOM, _COLD and _PAGEOUT, for all; not _MERGEABLE, with others' pages
    ("madvise", 2, _INT, (0, 2, 3, 4, 8, 10, 11, *range(14, 20), 22, 23)),
    ("mmap", 3, 0x40021, (0, 0x01, 0x20)),  # not both MAP_SHARED and _ANONYMOUS; no MAP_HUGETLB
    ("preadv2", 5, 0x88, (0,)),  # not RWF_NOWAIT, RWF_DONTCACHE
    ("pwritev2", 5, 0x88, (0,)),
    ("setsockopt", 2, _INT, (*range(7), *range(9, 32))),  # not SO_SNDBUF, SO_RCVBUF
    ("socket", 0, _INT, (1,)),  # AF_UNIX
    ("socketpair", 0, _INT, (1,)),
)


@functools.cache
def rules() -> bytes:
    """The program that bubblewrap hands to the kernel, made by libseccomp.

    Raises:
        RuntimeError: if this machine has no libseccomp.
    """
    import pyseccomp as seccomp  # looks for libseccomp: elsewhere this module is read, too

    found = seccomp.SyscallFilter(seccomp.ERRNO(errno.ENOSYS))
    found.set_attr(seccomp.Attr.CTL_OPTIMIZE, 2)  # sorted: a call is found in few steps

    def add(action: int, name: str, *values: seccomp.Arg) -> None:
        try:
            number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name)
        except OSError:
            return
        found.add_rule(action, number, *values)

    for names in (FILES, MEMORY, PROCESSES, SIGNALS_AND_TIME, WAITING_AND_TALKING):
        for name in names.split():
            add(seccomp.ALLOW, name)
    for name in QUIET.split():
        add(seccomp.ERRNO(0), name)
    for name, place, bits, values in IN_PART:
        for value in values:
            add(seccomp.ALLOW, name, seccomp.Arg(place, seccomp.MASKED_EQ, bits, value))
    with tempfile.TemporaryFile() as file:
        found.export_bpf(file)
        file.seek(0)
        return file.read()
