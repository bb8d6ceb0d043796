//! A stopped worker's memory: read into an arena, a sealed memfd that nobody can change any more, or written from one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::Pid;

/// Where windows start inside an arena: a multiple of what any vector load wants.
const ALIGNMENT: u64 = 64;

/// How long a file may stay busy before that is an error: far longer than moving a page or starting a program takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is worth a thread of its own when memory is written, and how many there are at most: it is bandwidth that ends it.
const BYTES_PER_THREAD: u64 = 4 << 20;
const MOST_THREADS: usize = 4;

/// Windows up to this size are put together here and written at once: a call of the system for each of hundreds of single elements takes longer than all
/// the rest. Larger than what a processor's own cache holds, it would be the copy that takes longer.
const TOGETHER: u64 = 1 << 20;

/// How many pieces of a larger one are named in one call of the system, and the largest that are worth naming together.
const AT_ONCE: usize = 1024;
const SMALL: u64 = 4096;

/// What is read at once: as much as a processor's own cache holds.
const BUFFER: u64 = 512 << 10;

/// A range of a worker's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The address of its first byte, in the worker.
    pub address: u64,
    /// Its length in bytes; may be 0.
    pub bytes: u64,
}

/// Bytes of an arena that come to lie in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where in the window they begin.
    pub to: u64,
    /// Where in the arena they begin.
    pub from: u64,
    /// How many they are.
    pub bytes: u64,
}

/// What a window is to hold.
#[derive(Clone, Debug)]
pub struct Filling {
    /// Where it is written.
    pub window: Window,
    /// Together they cover all of the window; later ones lie over earlier ones.
    pub pieces: Vec<Piece>,
}

impl Filling {
    /// Whether its pieces lie in the window and in an arena of this length.
    fn fits(&self, length: u64) -> bool {
        let within = |start: u64, bytes: u64, end: u64| start.checked_add(bytes).is_some_and(|last| last <= end);
        self.pieces.iter().all(|piece| within(piece.to, piece.bytes, self.window.bytes) && within(piece.from, piece.bytes, length))
    }
}

/// Windows, copied one after the other.
#[derive(Debug)]
pub struct Arena {
    /// The sealed memory.
    pub fd: OwnedFd,
    /// Where each window starts, in the order asked for.
    pub offsets: Vec<u64>,
}

/// Where each window goes, and how long the arena becomes.
fn layout(windows: &[Window]) -> (Vec<u64>, u64) {
    let mut end = 0_u64;
    let offsets = windows
        .iter()
        .map(|window| {
            let start = end.next_multiple_of(ALIGNMENT);
            end = start.saturating_add(window.bytes);
            start
        })
        .collect();
    (offsets, end)
}

/// Copies the windows of process `pid`, which should be stopped. An address that is not mapped there is `EFAULT`.
///
/// By way of a buffer: pages that are written whole need no zeros first and no place in a page table, which take three times as long as the copies.
pub(crate) fn read(pid: Pid, windows: &[Window]) -> io::Result<Arena> {
    let (offsets, length) = layout(windows);
    let fd = memfd_create("kernelwright-arena", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&fd, length.max(1))?;
    let file = File::from(fd);
    let longest = windows.iter().map(|window| window.bytes).max().unwrap_or_default();
    let mut buffer = vec![0; longest.min(BUFFER) as usize];
    for (window, &offset) in windows.iter().zip(&offsets) {
        let mut done = 0;
        while done < window.bytes {
            let part = Window { address: window.address.wrapping_add(done), bytes: (window.bytes - done).min(BUFFER) };
            let room = &mut buffer[..part.bytes as usize];
            copy(pid, part, room.as_mut_ptr())?;
            file.write_all_at(room, offset + done)?;
            done += part.bytes;
        }
    }
    let fd = OwnedFd::from(file);
    seal(&fd)?;
    Ok(Arena { fd, offsets })
}

/// Makes sure that nobody can change the file any more.
///
/// The kernel says `EBUSY` while somebody else holds a page of the file (moving pages about and reclaiming them does so in passing) or a process just
/// forked off this one has not yet become another program. Either ends by itself.
fn seal(fd: impl AsFd) -> io::Result<()> {
    let since = Instant::now();
    loop {
        match fcntl_add_seals(&fd, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL) {
            Err(Errno::BUSY) if since.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(1)),
            other => return Ok(other?),
        }
    }
}

/// Writes into windows of process `pid`, which should be stopped, from an arena.
pub(crate) fn write(pid: Pid, fillings: &[Filling], arena: impl AsFd) -> io::Result<()> {
    let length = rustix::fs::fstat(&arena)?.st_size.cast_unsigned();
    if !fillings.iter().all(|filling| filling.fits(length)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a piece beyond the end of its window or arena"));
    }
    if fillings.iter().all(|filling| filling.window.bytes == 0) {
        return Ok(());
    }
    let length = usize::try_from(length).map_err(io::Error::other)?;
    // SAFETY: a fresh mapping, private and read-only; nothing else refers to it until it is unmapped below.
    let base = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, &arena, 0)? };
    // As a number: pointers do not go to other threads.
    let start = base as usize;
    let written = in_parallel(fillings, |part| {
        let mut room = Vec::new();
        part.iter().try_for_each(|filling| fill(pid, filling, start, &mut room))
    });
    // SAFETY: the mapping made above, of the same length; no reference into it is left.
    unsafe { munmap(base, length)? };
    written
}

/// Does the work on parts of the fillings; with several threads where that pays.
fn in_parallel(fillings: &[Filling], work: impl Fn(&[Filling]) -> io::Result<()> + Copy + Send) -> io::Result<()> {
    let bytes: u64 = fillings.iter().map(|filling| filling.window.bytes).sum();
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min((bytes / BYTES_PER_THREAD) as usize).clamp(1, MOST_THREADS);
    let share = fillings.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let others: Vec<_> = fillings.chunks(share).skip(1).map(|part| scope.spawn(move || work(part))).collect();
        let own = fillings.chunks(share).take(1).try_for_each(work);
        let joined = others.into_iter().map(|other| other.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))));
        joined.fold(own, Result::and)
    })
}

/// Writes one window from the arena mapped at `start`, whose pieces lie in both; `room` is used again.
fn fill(pid: Pid, Filling { window, pieces }: &Filling, start: usize, room: &mut Vec<u8>) -> io::Result<()> {
    let source = |piece: &Piece| (start + piece.from as usize) as *const u8;
    if window.bytes > TOGETHER || pieces.len() < 2 {
        let at = |piece: &Piece| Window { address: window.address.wrapping_add(piece.to), bytes: piece.bytes };
        let several = pieces.chunk_by(|one, next| one.bytes.max(next.bytes) <= SMALL).flat_map(|group| group.chunks(AT_ONCE));
        // What is not written to its end together is written piece by piece, which says why.
        return several
            .filter(|several| several.len() == 1 || !paste_all(pid, *window, several, start))
            .try_for_each(|several| several.iter().try_for_each(|piece| paste(pid, at(piece), source(piece))));
    }
    room.resize(window.bytes as usize, 0);
    for piece in pieces {
        // SAFETY: the piece lies inside the mapping, as the caller has checked, and inside the window, which `room` is as long as; they are apart.
        unsafe { std::ptr::copy_nonoverlapping(source(piece), room.as_mut_ptr().add(piece.to as usize), piece.bytes as usize) };
    }
    paste(pid, *window, room.as_ptr())
}

/// Copies several pieces from the arena mapped at `start` into their window, in their order and in one call; whether all of it was written.
fn paste_all(pid: Pid, window: Window, pieces: &[Piece], start: usize) -> bool {
    let vector = |address: usize, bytes: u64| libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes as usize };
    let local: Vec<_> = pieces.iter().map(|piece| vector(start + piece.from as usize, piece.bytes)).collect();
    let remote: Vec<_> = pieces.iter().map(|piece| vector(window.address.wrapping_add(piece.to) as usize, piece.bytes)).collect();
    let count = pieces.len() as libc::c_ulong;
    // SAFETY: `local` is only read, and lies inside the mapping, as the caller has checked; the kernel checks `remote` against the other process's
    // mappings.
    let written = unsafe { libc::process_vm_writev(pid.as_raw_nonzero().get(), local.as_ptr(), count, remote.as_ptr(), count, 0) };
    u64::try_from(written) == Ok(pieces.iter().map(|piece| piece.bytes).sum())
}

/// Copies `source`, which is as long as the window, into it.
fn paste(pid: Pid, window: Window, source: *const u8) -> io::Result<()> {
    let mut done = 0;
    while done < window.bytes {
        let left = (window.bytes - done) as usize;
        let local = libc::iovec { iov_base: source.wrapping_add(done as usize).cast_mut().cast(), iov_len: left };
        let remote = libc::iovec { iov_base: (window.address.wrapping_add(done)) as *mut libc::c_void, iov_len: left };
        // SAFETY: `local` is only read, inside the caller's room; the kernel checks `remote` against the other process's mappings.
        let count = unsafe { libc::process_vm_writev(pid.as_raw_nonzero().get(), &raw const local, 1, &raw const remote, 1, 0) };
        match count {
            -1 => return Err(io::Error::last_os_error()),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => done += count as u64,
        }
    }
    Ok(())
}

/// The number at an address of process `pid`.
pub(crate) fn peek(pid: Pid, address: u64) -> io::Result<u64> {
    let mut bytes = [0; size_of::<u64>()];
    copy(pid, Window { address, bytes: bytes.len() as u64 }, bytes.as_mut_ptr())?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Copies one window to `destination`, which has room for all of it.
fn copy(pid: Pid, window: Window, destination: *mut u8) -> io::Result<()> {
    let mut done = 0;
    while done < window.bytes {
        let left = (window.bytes - done) as usize;
        let local = libc::iovec { iov_base: destination.wrapping_add(done as usize).cast(), iov_len: left };
        let remote = libc::iovec { iov_base: (window.address.wrapping_add(done)) as *mut libc::c_void, iov_len: left };
        // SAFETY: `local` lies inside the caller's room; the kernel checks `remote` against the other process's mappings.
        let count = unsafe { libc::process_vm_readv(pid.as_raw_nonzero().get(), &raw const local, 1, &raw const remote, 1, 0) };
        match count {
            -1 => return Err(io::Error::last_os_error()),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => done += count as u64,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    #[test]
    fn windows_are_copied_and_sealed() {
        let (first, second) = (vec![7_u8; 100], vec![9_u8; 10]);
        let window = |bytes: &[u8]| Window { address: bytes.as_ptr() as u64, bytes: bytes.len() as u64 };
        let arena = read(rustix::process::getpid(), &[window(&first), Window { address: 0, bytes: 0 }, window(&second)]).unwrap();
        assert_eq!(arena.offsets, [0, 128, 128]);
        let mut file = std::fs::File::from(arena.fd);
        let mut copy = [0; 10];
        file.read_exact_at(&mut copy, 128).unwrap();
        assert_eq!(copy, [9; 10]);
        file.rewind().unwrap();
        assert!(file.write_all(b"changed").is_err());
    }

    #[test]
    fn an_arena_that_is_busy_for_a_moment_is_sealed() {
        let fd = memfd_create("kernelwright-test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&fd, 1).unwrap();
        // SAFETY: a fresh mapping of our own file, unmapped below as it was made.
        let base = unsafe { mmap(std::ptr::null_mut(), 1, ProtFlags::WRITE, MapFlags::SHARED, &fd, 0).unwrap() } as usize;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                // SAFETY: the mapping made above, of the same length; nothing refers to it.
                unsafe { munmap(base as *mut _, 1).unwrap() };
            });
            seal(&fd).unwrap();
        });
        assert!(rustix::io::write(&fd, b"changed").is_err());
    }

    fn write_here(window: Window, pieces: Vec<Piece>, arena: &Arena) -> io::Result<()> {
        write(rustix::process::getpid(), &[Filling { window, pieces }], &arena.fd)
    }

    #[test]
    fn windows_are_written_from_an_arena() {
        let (source, target) = (vec![7_u8; 100], vec![0_u8; 10]);
        let window = |bytes: &[u8]| Window { address: bytes.as_ptr() as u64, bytes: bytes.len() as u64 };
        let arena = read(rustix::process::getpid(), &[window(&source)]).unwrap();
        let all = Piece { to: 0, from: 90, bytes: 10 };
        write_here(window(&target), vec![all], &arena).unwrap();
        assert_eq!(target, [7; 10]);
        for beyond in [Piece { from: 91, ..all }, Piece { to: 1, from: 0, bytes: 10 }, Piece { from: u64::MAX, ..all }] {
            assert!(write_here(window(&target), vec![all, beyond], &arena).is_err(), "{beyond:?}");
        }
        let nowhere = Window { address: 8, bytes: 10 };
        assert_eq!(write_here(nowhere, vec![all], &arena).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        assert_eq!(write_here(nowhere, vec![all, all], &arena).unwrap_err().raw_os_error(), Some(libc::EFAULT));
    }

    #[test]
    fn later_pieces_lie_over_earlier_ones_in_small_windows_and_in_large_ones() {
        for numbers in [5000_u32, TOGETHER as u32 / 4 + 1] {
            let (source, target) = ((0..numbers).flat_map(u32::to_le_bytes).collect::<Vec<u8>>(), vec![0_u8; 4 * numbers as usize]);
            let window = |bytes: &[u8]| Window { address: bytes.as_ptr() as u64, bytes: bytes.len() as u64 };
            let arena = read(rustix::process::getpid(), &[window(&source)]).unwrap();
            let all = Piece { to: 0, from: 0, bytes: window(&source).bytes };
            let single = |to: u64, from: u64| Piece { to: 4 * to, from: 4 * from, bytes: 4 };
            let backwards = (0..3000).map(|i| single(i, 2999 - i));
            let pieces: Vec<_> = [all].into_iter().chain(backwards).chain([single(3, 40), single(4000, 7), single(3, 41)]).collect();
            write_here(window(&target), pieces.clone(), &arena).unwrap();
            let otherwise = |i: u32| if i < 3000 { 2999 - i } else { i };
            let expected =
                (0..numbers).map(|i| [(3, 41), (4000, 7)].iter().find(|(to, _)| *to == i).map_or(otherwise(i), |(_, from)| *from));
            assert!(target.chunks(4).eq(expected.map(u32::to_le_bytes)), "{numbers}");
            let nowhere = Window { address: 8, ..window(&target) };
            assert_eq!(write_here(nowhere, pieces[1..].to_vec(), &arena).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        }
    }

    #[test]
    fn a_number_is_read_where_it_lies() {
        let number = 7_u64 << 40;
        assert_eq!(peek(rustix::process::getpid(), &raw const number as u64).unwrap(), number);
        assert_eq!(peek(rustix::process::getpid(), 8).unwrap_err().raw_os_error(), Some(libc::EFAULT));
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let error = read(rustix::process::getpid(), &[Window { address: 8, bytes: 8 }]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }
}
